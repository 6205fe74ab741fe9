"""Recorded judgements from elsewhere, brought into one shape: cases, jurors' answers, people's, and what was asked."""

from .judgements import load_judgements
from .llmbar import llmbar
from .pandalm import pandalm
from .recording import Recording

__all__ = ["Recording", "llmbar", "load_judgements", "pandalm"]
