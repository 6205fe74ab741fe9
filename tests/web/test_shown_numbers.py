"""What the inspector's tables and figures show is what the votes that were cast come to, counted here by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from statistics import mean, median

import pytest
from inspector_server import InspectorServer
from planted_run import RUBRIC
from written_transcripts import written_run

from venire import Case, Store
from venire.agents.cost import Receipt
from venire.rubrics.ratings import Rating
from venire.web.deliberation_reader import Recounter
from venire.web.people import People
from venire.web.scales import ScalePositions
from venire.web.summaries import Summariser

JURORS = ("x", "y", "z")
NAMES = ("accurate", "organized")
CAST: Mapping[str, Mapping[str, tuple[list[int], list[int]]]] = {
    "stances": {"a": ([1, 2, 4], [3, 3, 3]), "b": ([5, 5, 5], [2, 4, 4]), "c": ([2, 2, 3], [1, 5, 5]), "d": ([4, 4, 5], [4, 4, 4]), "e": ([3, 1, 1], [])},
    "other": {"a": ([2, 2, 2], [3, 3, 4]), "b": ([5, 4, 4], [4, 4, 4]), "c": ([2, 2, 2], [2, 2, 2]), "d": ([4, 4, 4], [5, 5, 5]), "e": ([1, 1, 1], [2, 2, 2])},
}  # fmt: skip
"""By arm and case, the three jurors' votes on either attribute; nobody votes on the second of the last case."""
RATED = {"a": (1, 1, 4), "b": (5, 5, 2), "c": (2, 4, 5), "d": (4, 4, 4)}
"""By case, what three people gave `accurate`: never a mean that is the median too, but for the last."""
SYSTEM = {case: "mn"[number % 2] for number, case in enumerate("abcde")}


def scores(arm: str, name: str, system: str | None = None) -> dict[str, float]:
    """By case, the median of the votes."""
    place = NAMES.index(name)
    found = {case: votes[place] for case, votes in CAST[arm].items() if system in (None, SYSTEM[case])}
    return {case: median(votes) for case, votes in found.items() if votes}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arms = {
        arm: {
            case: {
                juror: {name: votes[number] for name, votes in zip(NAMES, both, strict=True) if votes}
                for number, juror in enumerate(JURORS)
            }
            for case, both in by_case.items()
        }
        for arm, by_case in CAST.items()
    }
    cases = [Case(id=case, output="It is so.", source=("It is.",), system=SYSTEM[case]) for case in SYSTEM]
    receipt = Receipt(calls=("k",), prompt=30, completion=4, usd=0.002, seconds=1.5)
    return written_run(tmp_path_factory.mktemp("shown") / "run", RUBRIC, cases, arms, spent=receipt)


@pytest.fixture(scope="module")
def served(run: Path) -> Iterator[InspectorServer]:
    ratings = [
        Rating(case, rater, "accurate", float(value))
        for case, values in RATED.items()
        for rater, value in zip(("ana", "ben", "cy"), values, strict=True)
    ]
    with InspectorServer(run, people=People(ratings)) as server:
        yield server


def words(markup: str) -> str:
    return unescape(" ".join(re.sub("<[^>]+>", " ", markup).split()))


def rows(page: str, label: str) -> list[list[str]]:
    """The cells of the table in the region of this name, a list a row."""
    table = page[page.index(f'aria-label="{label}"') :].partition("</table>")[0].partition("<tbody>")[2]
    return [[words(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in table.split("<tr")[1:]]  # fmt: skip


def score_cell(arm: str, name: str, system: str | None = None) -> str:
    """The mean, how often each value was given, and what is hung."""
    given = list(scores(arm, name, system).values())
    counts = ", ".join(f"{value}: {given.count(value)}" for value in range(1, 6) if value in given)
    hung = " 1 hung" if (arm, name) == ("stances", "organized") and system != "n" else ""
    return f"{mean(given):.2f} {counts}{hung}"


def test_scores_by_arm_and_by_system(served: InspectorServer) -> None:
    page = served.ask().text

    assert rows(page, "Scores by arm") == [[arm, *(score_cell(arm, name) for name in NAMES)] for arm in CAST]
    assert rows(page, "Scores by system") == [
        [arm, system, *(score_cell(arm, name, system) for name in NAMES)] for arm in CAST for system in "mn"
    ]
    # Four bars of `accurate`: the tallest, of two, fills the room, and those of one half of it.
    bars = page[page.index('aria-label="accurate: 1: 1, 2: 2') :].partition("</svg>")[0]
    assert re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', bars) == [("0.0", "9.0", "9.0"), ("12.0", "0.0", "18.0"), ("36.0", "9.0", "9.0"), ("48.0", "9.0", "9.0")]  # fmt: skip


def test_the_arms_how_they_ended_and_how_often_they_agree(served: InspectorServer) -> None:
    page = served.ask().text
    for row, (arm, by_case) in zip(rows(page, "Arms"), CAST.items(), strict=True):
        asked = [votes for both in by_case.values() for votes in both]
        agreed = [len(set(votes)) == 1 for votes in asked if votes]
        hung = sum(not votes for votes in asked)
        assert row[0] == arm and row[3:8] == ["5", str(10 - hung), str(hung), "0", f"{mean(agreed):.0%}"]
        assert row[8:] == ["complete 5", f"{5 * 3 * 34}", f"${5 * 3 * 0.002:.4f}"]
    pairs = [(scores("stances", name)[case], scores("other", name)[case]) for name in NAMES for case in scores("stances", name)]  # fmt: skip
    alike = mean(one == two for one, two in pairs)
    assert f"other and stances agree on {alike:.0%} of the {len(pairs)} scores that both gave" in words(page)
    assert "10 deliberations, 2 arms" in words(page)


@pytest.mark.parametrize("arm", CAST)
def test_what_splits_a_jury_and_who_is_harsh(served: InspectorServer, arm: str) -> None:
    text = words(served.ask().text)
    details = text[text.index(f"{arm} note") :]
    for place, name in enumerate(NAMES):
        apart = [(max(both[place]) - min(both[place])) / 4 for both in CAST[arm].values() if both[place]]
        assert f"{name} {mean(apart):.2f} n {len(apart)}" in details
    for number, juror in enumerate(JURORS):
        leaning = [(votes[number] - (sum(votes) - votes[number]) / 2) / 4 for both in CAST[arm].values() for votes in both if votes]  # fmt: skip
        assert f"{juror}: {mean(leaning):+.3f} of the scale, n={len(leaning)}" in details


def test_verdicts_beside_peoples_medians(served: InspectorServer) -> None:
    page = served.ask("people").text
    shown = rows(page, "Verdicts and people")
    wanted = {
        (case, arm): (scores(arm, "accurate")[case], median(given))
        for arm in CAST
        for case, given in RATED.items()
    }
    assert len(shown) == len(wanted) == 8
    for case, arm, attribute, verdict, middle, apart, each in shown:
        score, people = wanted[case, arm]
        assert attribute == "accurate" and (float(verdict), float(middle)) == (score, people)
        assert apart == f"{score - people:+.2f}"
        assert each == ", ".join(f"{who} {value}" for who, value in zip(("ana", "ben", "cy"), RATED[case], strict=True))  # fmt: skip
    sizes = [abs(float(row[5])) for row in shown]
    assert sizes == sorted(sizes, reverse=True)
    for arm in CAST:
        mine = [pair for (_, of), pair in wanted.items() if of == arm]
        equal, apart = mean(one == two for one, two in mine), mean(one - two for one, two in mine)
        assert f"{arm} : 4 scores, {equal:.0%} equal, mean difference {apart:+.2f}" in words(page)
    overview = words(served.ask().text)
    assert "c other accurate 2, people 4: -2" in overview and "a stances accurate 2, people 1: +1" in overview


def test_equal_scores_are_counted_as_often_as_they_are_met(run: Path) -> None:
    """Two cases with the same score and the same median are one dot and two scores."""
    ratings = [Rating(case, "ana", "accurate", value) for case, value in (("a", 5.0), ("c", 5.0), ("b", 5.0))]
    with InspectorServer(run, people=People(ratings)) as server:
        text = words(server.ask("people?arm=stances").text)

    assert "3 scores, 33% equal, mean difference -2.00" in text and "2 scores" in text


def test_the_list_of_cases_has_each_score_and_the_widest_spread(served: InspectorServer) -> None:
    page = served.ask("cases?sort=spread").text
    found = {
        (words(row[0])[0], words(row[1])): [words(cell) for cell in row[2:]]
        for row in (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", part) for part in page.partition("<tbody>")[2].partition("</tbody>")[0].split("<tr")[1:])
    }  # fmt: skip
    assert len(found) == 10
    spreads = []
    for (case, arm), cells in found.items():
        both = CAST[arm][case]
        widest = max(max(votes) - min(votes) for votes in both if votes)
        score = [f"{median(votes):g}" if votes else "hung" for votes in both]
        assert cells[:5] == [SYSTEM[case], *score, "1", f"{widest:g}"]
        spreads.append(widest)
    assert spreads == sorted(spreads, reverse=True)


@pytest.mark.parametrize("case", "abc")
def test_a_deliberations_counts_and_the_height_of_its_dots(served: InspectorServer, case: str) -> None:
    page = served.ask(f"case?id={case}&in_arm=stances").text
    for name, votes in zip(NAMES, CAST["stances"][case], strict=True):
        middle = median(votes)
        assert f"{name} {middle:g} by median, {votes.count(int(middle))} of 3 agree" in words(page)
        drawing = page[page.index(f'aria-label="{name}: 3 jurors over 1 rounds, verdict {middle:g}"') :].partition("</svg>")[0]  # fmt: skip
        heights = [float(y) for y in re.findall(r'<circle class="body" cx="[\d.]+" cy="([\d.]+)"', drawing)]
        # A lane is 62 high and a scale 36 of it, from 1 at the foot to 5.
        feet = [79 + 62 * lane for lane in range(3)]
        assert [foot - height for foot, height in zip(feet, heights, strict=True)] == [9 * (vote - 1) for vote in votes]  # fmt: skip


def test_two_arms_beside_each_other_say_how_far_apart_they_are(served: InspectorServer) -> None:
    text = words(served.ask("compare?id=c&a=stances&b=other").text)
    assert "stances and other differ on 1 of 2 attributes" in text
    assert "organized 5 and 2, 3 apart" in text and "accurate 2 and 2" in text and "2 and 2, 0 apart" not in text  # fmt: skip
    assert text.index("organized 5 and 2") < text.index("accurate 2 and 2")
    hung = words(served.ask("compare?id=e&a=stances&b=other").text)
    assert "hung and 2" in hung and "differ on 1 of 2" in hung


def test_an_earlier_round_never_replaces_a_later_one() -> None:
    for order in ((1, 2), (2, 1)):
        people = People(Rating("a", "ana", "accurate", float(number), round=number) for number in order)
        assert people.median("a", "accurate") == 2.0
    # A blank round is round 0. Of two ratings of one round the later stands, and each person has her own.
    for first, second, middle in ((None, 0, 2.0), (0, None, 2.0), (1, None, 1.0), (None, 1, 2.0)):
        given = [Rating("a", "ana", "accurate", 1.0, first), Rating("a", "ana", "accurate", 2.0, second)]
        assert People(given).median("a", "accurate") == middle
        assert len(People([*given, Rating("a", "ben", "accurate", 5.0)]).ratings_of("a")) == 2
    assert People([Rating("a", "ana", "accurate", None)]).cases == []
    assert People([Rating("a", "ana", "accurate", "good")]).median("a", "accurate") is None


def test_a_score_lies_where_its_scale_says() -> None:
    axis = ScalePositions.of(RUBRIC, "accurate")
    assert [axis.at(value) for value in (1, 2, 5, 2.5, 0, 9)] == [0, 0.25, 1, 0.375, 0, 1]
    assert axis.at("not_applicable") < 0


def test_the_indexs_rows_are_what_each_deliberation_took(run: Path) -> None:
    store = Store.read(run)
    try:
        batch = Summariser(store).scores(0, 10, 100)
    finally:
        store.release()
    assert len(batch.summaries) == 10 and batch.read_to == 10
    # Three who vote at the same time take as long as one.
    for row, kept in batch.summaries:
        both = CAST[row.arm_name][row.case]
        assert (row.rounds, row.turns, row.tokens, row.seconds) == (1, 3, 3 * 34, 1.5)
        assert row.usd == pytest.approx(0.006) and row.system == SYSTEM[row.case]
        assert row.hung == sum(not votes for votes in both)
        assert row.spread == max(max(votes) - min(votes) for votes in both if votes)
        assert [(each.attribute, each.number) for each in kept] == [
            (name, median(votes) if votes else None) for name, votes in zip(NAMES, both, strict=True)
        ]


def test_verdicts_are_counted_by_what_their_arms_rule_learned_from_all_of_its_cases(tmp_path: Path) -> None:
    def both(**scores: int) -> dict[str, dict[str, int]]:
        return {juror: dict.fromkeys(NAMES, score) for juror, score in scores.items()}

    arms = {
        "far-y": {"a": both(x=3, y=5, z=3), "b": both(x=1, y=3)},
        "far-x": {"a": both(x=5, y=3, z=3), "b": both(x=1, y=3)},
    }
    cases = [Case(id=case, output=f"It is {case}.") for case in "ab"]
    store = Store.read(written_run(tmp_path / "run", RUBRIC, cases, arms, count="weighted"))
    try:
        recounter = Recounter(store)
        shown = {
            arm.name: recounter.verdict(arm, transcript)["accurate"].value
            for arm in store.arms()
            for transcript in store.transcripts(arm, "b")
        }
    finally:
        store.release()

    # On a, x and y are a quarter and a half of the scale from the mean of the others, or the other way about; on b, a half.
    near, far = (0.75 + 0.5) / 2, (0.5 + 0.5) / 2
    assert shown["far-y"] == pytest.approx((near * 1 + far * 3) / (near + far))
    assert shown["far-x"] == pytest.approx((far * 1 + near * 3) / (near + far))
