"""The inspector's pages: what is known in, markup out."""
