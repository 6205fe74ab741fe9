"""Arms against people: contrasts, effects, methods."""
