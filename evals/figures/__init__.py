"""A table in, an SVG out."""
