"""Counting rules: how the votes on an attribute become a value. One function each, over the ballots of a run."""

from .averages import mean, median, mode, trimmed_mean
from .rule import Count, Counted, Rule, Tally, counting_rule

__all__ = ["Count", "Counted", "Rule", "Tally", "counting_rule", "mean", "median", "mode", "trimmed_mean"]
