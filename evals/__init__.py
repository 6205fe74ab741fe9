"""What it is worth: agreement with people, comparison of arms, the demonstration."""

from .comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
