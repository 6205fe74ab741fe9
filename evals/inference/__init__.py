"""Few labels, many scores: what a jury's votes are worth."""
