"""The one table of ratings: people's files, a run's votes, the reference, groups, folds, pooling."""
