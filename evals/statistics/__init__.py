"""Numbers in, `Estimate` out: no cases, no runs, no files."""
