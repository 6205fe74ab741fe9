"""Kinds of fault: each file finds one place in a clean text where its kind can be planted, and says what to write there."""
