"""A comparison and an agreement as pages, figures and files that need nothing else to be read."""
