"""A table in, a figure out: each file draws one, on the kit in `drawing` and `panel`."""
