"""An alignment as a picture: the two talks side by side, what belongs together in one row, differing words marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from rich.table import Table

from ...orchestration.record.private_files import write_atomically
from ..report.html import items, page, section
from ..report.markup import Child, Html, element, fragment
from ..transcripts.talk import Utterance
from .alignment import AlignedGroup, Alignment, spoken_words

LOG_SHOWN = 50


def alignment_sentences(alignment: Alignment) -> list[str]:
    """What was linked, and what was not."""
    if alignment.abstention is not None:
        abstention = alignment.abstention
        return [
            f"{alignment.aligner} gave no alignment ({abstention.reason}: {abstention.detail}), so no utterance is counted as missed."
        ]
    joined_count = sum(len(g.said) > 1 or len(g.heard) > 1 for g in alignment.groups)
    return [
        f"{alignment.name}: {alignment.aligner} put {len(alignment.said)} utterances and {len(alignment.heard)} segments into {len(alignment.groups)} "
        f"groups; {joined_count} groups join several utterances or segments. Utterances without a segment: {len(alignment.missed)}; segments without an utterance: "
        f"{len(alignment.unused)}; changes made by the refinement rules: {len(alignment.log)}."
    ]


def alignment_table(alignment: Alignment) -> Table:
    """The two transcripts side by side in the terminal."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("said", "", "heard", ""):
        table.add_column(column, overflow="fold")
    for said_places, heard_places in _rows(alignment):
        table.add_row(
            _numbers(said_places), _words(alignment.said, said_places) or "(not said)", _numbers(heard_places), _words(alignment.heard, heard_places) or "(nothing)"
        )  # fmt: skip
    return table


def alignment_view(alignment: Alignment) -> Html:
    """The picture as a part of a page: a row a group, in the order in which things were said."""
    heads = [element("th", {"scope": "col"}, words) for words in ("said", "link", "heard")]
    rows = [_row(alignment, said_places, heard_places) for said_places, heard_places in _rows(alignment)]
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "The two transcripts side by side"},
        element("table", {"class": "talks"}, element("thead", None, element("tr", None, heads)), element("tbody", None, rows)),
    )  # fmt: skip


def write_alignment_page(alignment: Alignment, path: Path) -> None:
    """The picture as a page that stands alone, with the log of changes."""
    changes = [f"{change.rule}: said {list(change.said)}, heard {list(change.heard)} ({change.note})" for change in alignment.log]  # fmt: skip
    body = [
        section("What was linked", items(alignment_sentences(alignment), "said")),
        section("Side by side", alignment_view(alignment)),
    ]
    if changes:
        body.append(section("Changes by rules", items(changes[:LOG_SHOWN], "notes")))
    write_atomically(path, page(f"Said and heard: {alignment.name}", f"aligned by {alignment.aligner}", body))


def _rows(alignment: Alignment) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Groups, missed utterances and unused segments, in the order of what was said and then of what was heard."""
    if alignment.abstention is not None:
        longest = max(len(alignment.said), len(alignment.heard))
        for place in range(longest):
            yield (
                range(place, min(place + 1, len(alignment.said))),
                range(place, min(place + 1, len(alignment.heard))),
            )
        return
    by_first = {group.said[0]: group for group in alignment.groups}
    missed, unused = set(alignment.missed), list(alignment.unused)
    for place in range(len(alignment.said)):
        if place in missed:
            yield (place,), ()
        elif (group := by_first.get(place)) is not None:
            while unused and unused[0] < group.heard[0]:
                yield (), (unused.pop(0),)
            yield group.said, group.heard
    yield from (((), (place,)) for place in unused)


def _row(alignment: Alignment, places: Sequence[int], others: Sequence[int]) -> Html:
    text_a, text_b = _marked_words(alignment, places, others)
    if alignment.abstention is not None:
        link = ""
    elif places and others:
        group = AlignedGroup(said=tuple(places), heard=tuple(others))
        link = f"{alignment.match_kind(group).replace('_', ' ')} {alignment.group_similarity(group):.2f}"
    else:
        link = "missed" if places else "nobody said it"
    cells = [
        element("td", {"data-label": "said", "dir": "auto"}, _pieces(alignment.said, places), text_a),
        element("td", {"data-label": "link"}, link),
        element("td", {"data-label": "heard", "dir": "auto"}, _pieces(alignment.heard, others), text_b),
    ]
    return element("tr", {"class": "linked" if places and others else "alone"}, cells)


def _pieces(utterances: Sequence[Utterance], places: Sequence[int]) -> Html:
    """The numbers of the pieces, with the time of the first."""
    seconds = utterances[places[0]].start if places else None
    when = f" at {seconds:.1f} s" if seconds is not None and seconds < 1e6 else ""
    return element("span", {"class": "soft"}, f"{_numbers(places)}{when} ") if places else fragment()


def _marked_words(
    alignment: Alignment, said_places: Sequence[int], heard_places: Sequence[int]
) -> tuple[list[Child], list[Child]]:
    """Both texts word by word, what the other side lacks struck through on the left and marked on the right."""
    texts, words = _words(alignment.said, said_places).split(), _words(alignment.heard, heard_places).split()
    if not said_places or not heard_places or alignment.abstention is not None:
        return [" ".join(texts)], [" ".join(words)]
    said_keys, heard_keys = (["".join(spoken_words(word)) for word in side] for side in (texts, words))
    matcher = SequenceMatcher(None, said_keys, heard_keys, autojunk=False)
    on_left: list[Child] = []
    on_right: list[Child] = []
    for step, start, end, heard_start, heard_end in matcher.get_opcodes():
        for word, key in zip(texts[start:end], said_keys[start:end], strict=True):
            on_left += [word if step == "equal" or not key else element("del", None, word), " "]
        for word in words[heard_start:heard_end]:
            on_right += [word if step == "equal" else element("mark", None, word), " "]
    return on_left, on_right


def _words(utterances: Sequence[Utterance], places: Sequence[int]) -> str:
    return " ".join(filter(None, (utterances[place].text.strip() for place in places)))


def _numbers(places: Sequence[int]) -> str:
    return f"{places[0]}–{places[-1]}" if len(places) > 1 else "".join(map(str, places))
