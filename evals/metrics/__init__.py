"""Automatic measures of a text against another: overlap of words, likeness of meaning."""
