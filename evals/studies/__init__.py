"""Which jury to use: a study file, its plan, one run for all its arms, and a report of what agreement costs."""

from .door import made_plan, made_report, report_of

__all__ = ["made_plan", "made_report", "report_of"]
