"""From one rubric to a benchmark: scenarios, scorers, and boards of systems with an uncertainty on every rank."""
