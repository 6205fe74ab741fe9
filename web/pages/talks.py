"""What was said and heard: the talks behind a run's cases, each aligned, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from ...evals.pages.alignment_page import alignment_sentences, alignment_view
from ...evals.pages.markup import Html, element, fragment
from ...evals.transcripts.alignment import Alignment
from .frame import heading


def talks_view(talks: Sequence[Alignment]) -> Html:
    """A section for each talk."""
    return fragment(*(_talk(talk) for talk in talks))


def _talk(talk: Alignment) -> Html:
    said = [element("p", None, sentence) for sentence in alignment_sentences(talk)]
    return element("section", {"class": "talk"}, heading(talk.name), *said, alignment_view(talk))
