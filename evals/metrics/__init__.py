"""Automatic measures of a text against another: edits, overlap, likeness of meaning."""
