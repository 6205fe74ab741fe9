"""From one rubric to a benchmark: scenarios, scorers, boards of systems with an uncertainty on every rank; and the names of the files in a run."""

from __future__ import annotations

ANSWERS, VERDICTS = "answers", "verdicts"
"""The records: what systems answered, and what juries said of it."""
MARK = "suite.json"
"""Says that a folder is a suite's run, and of which suite."""
REPORT = "report"
"""The report's folder."""
DOCUMENT = "report.json"
"""The report as JSON, within its folder."""
CASES = "cases.jsonl"
"""What each system answered to each case and what it is worth, a line each, in the report's folder within the run: the answers whole."""
