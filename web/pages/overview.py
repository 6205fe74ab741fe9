"""The run at a glance: its arms, what they cost and how they ended, and which cases deserve a look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...evals.report.html import svg
from ...evals.report.markup import Child, Html, element, fragment, shorten
from ...orchestration.reading.analysis import Census
from ...orchestration.reading.analysis.census import Share
from ...orchestration.reading.scores import ScoreCounts
from ...orchestration.record import Arm
from ...rubrics.errors import count_words
from ..charts import bar_figure, flows_figure, leanings_figure, spread_figure
from ..people import Difference
from ..scales import difference_words, score_words
from ..search import CaseSearch, Row
from .frame import KINDS, Reach, badge, heading, quiet
from .people import differences_section, scores_section

OPEN_ARMS = 3
"""With more arms than this, what is known of each beside its scores is folded."""
COMMON = 0.5
"""A kind of flag on this share of all deliberations or more is common: it tells no case from another."""


def overview(
    run: str,
    arms: Sequence[Arm],
    censuses: Mapping[str, Census],
    counts: ScoreCounts,
    looks: Sequence[Row],
    reach: Reach,
    differences: tuple[Sequence[Difference], int] | None,
    effects: Sequence[str] | None,
    *,
    working: bool = False,
    going: Child = None,
) -> Html:
    """The page's content: scores, where people differ, what deliberation did, what to look at first, the arms.

    `differences` are the largest from people's ratings, and how many scores people rated; None without ratings. `effects` are
    sentences on what deliberation did; None while that is computed. `working`: the differences still are. `going` is what of the
    run is in progress.
    """
    cases = sum(census.number("cases") for census in censuses.values())
    counted = (
        f"{cases:,} deliberation{'s' if cases != 1 else ''}, {len(arms)} arm{'s' if len(arms) != 1 else ''}"
    )
    details = [
        element("section", {"data-live": f"arm-{arm.id}", "class": "arm"}, _arm(arm, censuses[arm.name], opened=len(arms) <= OPEN_ARMS))
        for arm in arms
    ]  # fmt: skip
    return fragment(
        element("div", {"class": "head"}, element("h1", None, run), element("p", {"class": "quiet", "data-live": "counted"}, counted)),
        going,
        element("section", {"data-live": "scores"}, heading("Scores"), scores_section(arms, counts), _causes(censuses)),
        element("section", {"data-live": "people"}, differences_section(*differences, reading=working or reach.reading_scores)) if differences else None,
        element("section", {"data-live": "deliberation"}, heading("What did deliberation do?"), _effects(effects)) if effects is None or effects else None,
        element("section", {"data-live": "looks", "class": "looks"}, heading("Look here first"), _unread(reach), _looks(looks, reach), _kinds(censuses, cases)),
        element("section", {"data-live": "arms"}, heading("Arms"), _foldable(f"{len(arms)} arms: stops and cost", len(arms) > 2 * OPEN_ARMS, _arms(arms, censuses)), _alike(arms, censuses)),
        _foldable(f"each of the {len(arms)} arms in detail", len(arms) > OPEN_ARMS, details),
    )  # fmt: skip


def _foldable(summary: str, folded: bool, *parts: Child) -> Html:
    """The parts, behind a summary where they are `folded`."""
    if not folded:
        return fragment(*parts)
    return element("details", {"class": "folded"}, element("summary", None, summary), *parts)


def _effects(effects: Sequence[str] | None) -> Html:
    if effects is None:
        return quiet("What deliberation did is being computed, and appears here when it is ready.")
    return fragment(
        element("ul", {"class": "causes"}, [element("li", {"dir": "auto"}, sentence) for sentence in effects]),
        quiet("These sentences compare how well two results agree with people: the final verdicts, and a count of the same jurors' first, blind votes."),
    )  # fmt: skip


def _causes(censuses: Mapping[str, Census]) -> Html:
    """Why attributes are hung, with how many deliberations each cause ended."""
    causes: dict[str, int] = {}
    for census in censuses.values():
        for cause, number in census.counts("cause"):
            causes[cause] = causes.get(cause, 0) + number
    most = sorted(causes.items(), key=lambda each: -each[1])
    return element(
        "ul",
        {"class": "causes"},
        [
            element("li", {"dir": "auto"}, element("b", None, "hung"), f" in {number:,}: ", shorten(cause, 200))
            for cause, number in most[:5]
        ],
    ) if most else fragment()  # fmt: skip


def _unread(reach: Reach) -> Html | None:
    """How much of the run the flags and the votes' movement are counted over; nothing once that is all of it."""
    if not reach.reading_flags:
        return None
    told = (
        f"The record is still being read. Flags, agreement of first votes and changes of score cover {reach.flagged:,} of {reach.last:,} deliberations; "
        f"scores and cost cover {reach.scored:,}."
    )
    return element("p", {"class": "quiet", "id": "unread"}, told)


def _looks(looks: Sequence[Row], reach: Reach) -> Html:
    flagged = [row for row in looks if row.flags]
    if not flagged:
        told = (
            "The record is being read: flags appear here as they are found."
            if reach.reading_flags
            else "No deliberation was flagged."
        )
        return element("p", {"class": "calm"}, told)
    items = []
    for row in flagged:
        address = CaseSearch().address("case", id=row.case, in_arm=row.arm)
        top = row.flags[0]
        value = _value(row, top[2])
        items.append(
            element(
                "li",
                None,
                element("a", {"class": "case", "href": address + (f"#a-{top[2]}" if top[2] else "")}, shorten(row.case, 60)),
                quiet(row.arm),
                badge(top[0], top[1]),
                element("p", {"dir": "auto"}, element("b", None, top[2], value) if top[2] else None, " ", top[3]),
                quiet(f"and {row.flag_count - 1} more") if row.flag_count and row.flag_count > 1 else None,
            )
        )  # fmt: skip
    return element("ol", {"class": "look"}, items)


def _value(row: Row, attribute: str) -> str:
    outcome = row.outcomes.get(attribute)
    return f" {score_words(outcome[1])}" if outcome and isinstance(outcome[1], int | float) else ""


def _kinds(censuses: Mapping[str, Census], cases: int) -> Html:
    """Each kind of flag with its number, the weightiest first; those that most cases have are folded."""
    counts: dict[str, int] = {}
    for census in censuses.values():
        for kind, number in census.counts("flagged"):
            counts[kind] = counts.get(kind, 0) + number
    rare = [kind for kind in KINDS if 0 < counts.get(kind, 0) < COMMON * cases]
    common = [kind for kind in KINDS if counts.get(kind, 0) and kind not in rare]
    return fragment(
        element("p", {"class": "chips"}, [_chip(kind, counts[kind]) for kind in rare]) if rare else None,
        element("details", {"class": "folded"}, element("summary", None, f"{count_words(len(common), 'kind')} of flag that at least half of the cases have"),
                element("p", {"class": "chips"}, [_chip(kind, counts[kind]) for kind in common])) if common else None,
    )  # fmt: skip


def _chip(kind: str, number: int) -> Html:
    return element(
        "a", {"class": "chip", "href": CaseSearch(flag=kind).address("cases")}, f"{KINDS[kind]} {number:,}"
    )


def _arms(arms: Sequence[Arm], censuses: Mapping[str, Census]) -> Html:
    columns = (
        "arm",
        "protocol",
        "jurors",
        "cases",
        "reached",
        "hung",
        "n/a",
        "agreed at first",
        "stopped by",
        "tokens",
        "cost",
    )
    rows = []
    for arm in arms:
        census = censuses[arm.name]
        outcomes = {
            status: census.number("outcome", status) for status in ("reached", "hung", "not_applicable")
        }
        agreed = census.means("agreed")
        votes = sum(share.n for share in agreed)
        share = sum((s.value or 0) * s.n for s in agreed) / votes if votes else None
        unpriced = census.number("unpriced")
        cost = "unknown" if unpriced else f"${census.total('spent', 'usd'):.4f}"
        stops = ", ".join(f"{reason} {number:,}" for reason, number in census.counts("stop"))
        cells: list[Child] = [
            arm.jury.protocol,
            ", ".join(arm.jury.seat_names),
            f"{census.number('cases'):,}",
            *(f"{number:,}" for number in outcomes.values()),
            "–" if share is None else f"{share:.0%}",
            stops,
            f"{census.total('spent', 'tokens'):,.0f}",
            cost,
        ]
        name = element("a", {"href": CaseSearch(arm=arm.name).address("cases")}, arm.name)
        rows.append(
            element("tr", None, element("th", {"scope": "row"}, name),
                    [element("td", {"data-label": label}, cell) for label, cell in zip(columns[1:], cells, strict=True)])
        )  # fmt: skip
    head = element("tr", None, [element("th", {"scope": "col"}, column) for column in columns])
    return element(
        "div",
        {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "Arms"},
        element("table", {"class": "arms"}, element("thead", None, head), element("tbody", None, rows)),
    )


def _alike(arms: Sequence[Arm], censuses: Mapping[str, Census]) -> Html:
    """How often two arms found the same, of everything that both found something of."""
    pairs: dict[tuple[str, ...], tuple[int, float]] = {}
    for arm in arms:
        for other in arms:
            times, alike = (
                censuses[arm.name].number("alike", other.name),
                censuses[arm.name].total("alike", other.name),
            )
            before = pairs.get(key := tuple(sorted((arm.name, other.name))), (0, 0.0))
            pairs[key] = (before[0] + times, before[1] + alike)
    told = [
        element("p", {"class": "quiet"}, f"{arm_name} and {other_name} agree on {alike / times:.0%} of the {times:,} scores that both gave")
        for (arm_name, other_name), (times, alike) in pairs.items()
        if times
    ]  # fmt: skip
    return _foldable(f"Agreement between arms ({len(told)} pairs)", len(told) > OPEN_ARMS, told)


def _arm(arm: Arm, census: Census, *, opened: bool) -> Html:
    if not census.splits() and not census.flows():
        return fragment()
    jurors = arm.jury.seat_names
    curves = []
    for attribute in arm.rubric.names:
        points = [
            (number, share.value) for number, share in census.curve(attribute) if share.value is not None
        ]
        if len(points) > 1:
            label = f"Mean spread of {attribute}"
            curves.append(
                element(
                    "figure",
                    None,
                    svg(spread_figure(points, label), {"class": "plot"}),
                    element("figcaption", None, attribute),
                )
            )
    found = census.flows()
    return element(
        "details",
        {"class": "arm-details", "open": opened},
        element("summary", None, element("h2", None, arm.name), quiet(" · ".join(dict.fromkeys(name for name in (arm.rubric.name, arm.jury.protocol) if name != arm.name)))),
        element(
            "div",
            {"class": "panels"},
            _panel("What splits the jury", "The mean distance between jurors' first votes on each attribute, as a share of the scale.", _bars(census.splits())) if census.splits() else None,
            _panel("Harsh or lenient", "How much higher (+) or lower (-) a juror's first votes are, on average, than the other jurors' first votes.", svg(leanings_figure(census.leanings("juror"), "Leanings"), {"class": "plot"}),
                   _leaning_table(census)) if len(jurors) > 1 and not arm.rubric.compares else None,
            _panel("Who moved towards whom", "An arrow points to the juror whose vote was read. It does not show that this vote caused the move; only control runs can show that.", svg(flows_figure(jurors, found, "Influence"), {"class": "plot flows"}),
                   _persuaders(census)) if found else None,
            _panel("Who conforms", "How often a juror moved to the majority without new evidence, as a share of the times it was outnumbered.", _bars(census.conformers()))
            if census.conformers() else None,
            element("div", {"class": "panel broad"}, element("h3", None, "Coming together"),
                    element("p", {"class": "quiet"}, "Mean spread of the jurors' votes after each round."), element("div", {"class": "curves"}, curves)) if curves else None,
        ),
    )  # fmt: skip


def _panel(title: str, told: str, *content: Child) -> Html:
    return element(
        "div",
        {"class": "panel"},
        element("h3", None, title),
        element("p", {"class": "quiet"}, told),
        *content,
    )


def _bars(shares: Sequence[Share]) -> Html:
    rows = [
        element(
            "tr",
            None,
            element("th", {"scope": "row"}, share.name),
            element("td", {"class": "drawn"}, None if share.value is None else _bar(share.name, share.value)),
            element("td", {"class": "number"}, "–" if share.value is None else f"{share.value:.2f}"),
            element("td", {"class": "number quiet"}, f"n {share.n:,}"),
        )
        for share in shares
    ]
    return element("table", {"class": "bars"}, element("tbody", None, rows))


def _bar(name: str, value: float) -> Html:
    drawn = bar_figure(value, f"{name}: {value:.2f}")
    return svg(drawn, {"class": "bar", "preserveAspectRatio": "none"})


def _leaning_table(census: Census) -> Html:
    rows = [
        element(
            "tr",
            None,
            element("th", {"scope": "row"}, shorten(share.name, 40)),
            element("td", None, of),
            element(
                "td", {"class": "number"}, "–" if share.value is None else difference_words(share.value, 3)
            ),
            element("td", {"class": "number quiet"}, f"n {share.n:,}"),
        )
        for of in ("persona", "model")
        for share in census.leanings(of)
    ]
    return element(
        "details",
        None,
        element("summary", None, "by persona and model"),
        element("table", {"class": "bars"}, rows),
    )


def _persuaders(census: Census) -> Html:
    shares = ((share.name, f"{share.value or 0:,.1f}".removesuffix(".0")) for share in census.persuaders())
    told = ", ".join(f"{name} {moves}" for name, moves in shares)
    return element("p", {"class": "quiet"}, "moves towards: ", told)
