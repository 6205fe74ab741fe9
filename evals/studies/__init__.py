"""Which jury to use: a study file, its plan, one run for all its arms, and what it found."""
