"""Juries of a pool, held against counting by hand: their answers, the best of a size, and what was chosen without a case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from juror_worlds import LIKERT, TWO, WORDS, YES_OR_NO, clueless_votes, judgement_tables, noisy_view

from venire import Jury, VenireError
from venire.evals.ratings.folds import Fold, folds
from venire.evals.ratings.question import Question
from venire.evals.studies import jury_search
from venire.evals.studies.juror_pool import BINARY, PRICED, VOTES, Pool, pool_of
from venire.evals.studies.juror_pool import WORDS as MODE_OF_WORDS
from venire.evals.studies.jury_search import (
    VoteCounter,
    _best_of,
    _first,
    _with_exchanges,
    best_juries,
    by_inner_folds,
    every_jury,
    held_out,
    jury_label,
    mean_credit,
    sizes_of,
)
from venire.orchestration.counting import Tally, counting_rule
from venire.rubrics.scale import Scale

RNG = np.random.default_rng
SIZES = (1, 3, 5)
NAN = math.nan


def pool(
    votes: Sequence[Sequence[float]] | np.ndarray,
    truth: Sequence[float] | np.ndarray,
    counting: str | Sequence[str] = BINARY,
    *,
    width: float = 1.0,
    attribute: str | Sequence[str] = "sound",
    cluster: np.ndarray | None = None,
    cost: Sequence[float] | None = None,
) -> Pool:
    """One row of votes for each question; the jurors are a, b, c and so on."""
    given = np.array(votes, dtype=float)
    n, jurors = given.shape
    rules = np.full(n, counting) if isinstance(counting, str) else np.array(counting)
    return Pool(
        jurors=tuple("abcdefghijkl"[:jurors]),
        questions=pd.DataFrame({"case": [f"c{row}" for row in range(n)], "attribute": attribute, "repeat": 0}),
        votes=given,
        truth=np.array(truth, dtype=float),
        cluster=np.arange(n) if cluster is None else cluster,
        counting=rules,
        exact=np.isin(rules, (BINARY, MODE_OF_WORDS)),
        width=np.full(n, width),
        direction=np.ones(n),
        cost=np.ones(jurors) if cost is None else np.array(cost, dtype=float),
        seconds=np.full(jurors, np.nan),
        unit="votes per case",
    )  # fmt: skip


def answers(some: Pool, *juries: str) -> list[list[float]]:
    members = np.array([[name in jury for name in some.jurors] for jury in juries])
    return VoteCounter(some).answers(members).tolist()


@pytest.mark.parametrize(
    ("rule", "votes", "answer"),
    [
        ("mean", [1, 2, 6], 3),
        ("mean", [1, NAN, 4], 2.5),
        ("mean", [NAN, 4, NAN], 4),
        ("median", [1, 2, 6], 2),
        ("median", [5, NAN, 2], 3.5),
        ("median", [NAN, 4, NAN], 4),
        ("median", [6, 6, 1], 6),
        ("mode", [1, 5, 5], 5),
        ("mode", [1, 2, 5], 2),
        ("mode", [1, NAN, 5], 1),
        (MODE_OF_WORDS, [2, 1, 5], 1),
        (MODE_OF_WORDS, [2, 5, 2], 2),
        (BINARY, [0, 1, 1], 1),
        (BINARY, [0, 1, 0], 0),
        (BINARY, [0, NAN, 1], NAN),
        (BINARY, [NAN, 0, NAN], 0),
        *((rule, [NAN] * 3, NAN) for rule in ("mean", "median", "mode", MODE_OF_WORDS, BINARY)),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_votes_are_counted_as_by_hand(rule: str, votes: list[float], answer: float, alone: bool) -> None:
    """Other questions may have other answers: with more than 64 different ones, medians are taken by sorting."""
    others = [] if alone else {BINARY: range(2), "mode": range(40), MODE_OF_WORDS: range(40)}.get(rule, range(200))  # fmt: skip
    given = [votes, *([float(value), float(value), NAN] for value in others)]

    assert answers(pool(given, [1.0] * len(given), rule), "abc")[0] == pytest.approx([answer, *others], nan_ok=True)  # fmt: skip


@pytest.mark.parametrize(
    ("scale", "legal"),
    [
        (TWO, [0, 1]),
        (LIKERT, [1, 2, 3, 4, 5]),
        (WORDS, ["blue", "green", "red"]),
        (Scale.model_validate({"level": "nominal", "anchors": {1: "", 2: "", 3: ""}}), [1, 2, 3]),
        (Scale.model_validate({"level": "binary", "anchors": {"no": "", "yes": ""}}), ["no", "yes"]),
    ],
    ids=["binary", "ordinal", "words", "nominal numbers", "two words"],
)
@pytest.mark.parametrize("counting", ["median", "mean", "mode"])
def test_juries_are_counted_as_panels_are(scale: Scale, legal: list[object], counting: str) -> None:
    rng = np.random.default_rng(8)
    names = [f"j{number}" for number in range(5)]
    given = rng.integers(0, len(legal), (40, 5))
    silent = rng.random((40, 5)) < 0.2
    judged = pd.DataFrame(
        {
            "case": [f"c{c}" for c in range(40) for _ in names],
            "juror": names * 40,
            "attribute": "a",
            "value": [None if silent[c, j] else legal[given[c, j]] for c in range(40) for j in range(5)],
        }
    )
    people = pd.DataFrame({"case": [f"c{c}" for c in range(40)], "attribute": "a", "value": [legal[0]] * 40})
    laid = pool_of(judged, people, {"a": Question(scale, "high")}, counting)
    members = rng.random((12, 5)) < 0.6
    answers = VoteCounter(laid).answers(members)
    rule = counting_rule(counting).count
    assert rule is not None
    jury = Jury.model_validate({"name": "x", "seats": [{"name": name, "model": "server/m", "base_url": "http://127.0.0.1:9/v1"} for name in names], "protocol": "panel"})  # fmt: skip

    for row, case in enumerate(laid.questions["case"]):
        number = int(case[1:])
        for which, sits in enumerate(members):
            cast = {names[j]: legal[given[number, j]] for j in range(5) if sits[j] and not silent[number, j]}
            counted = rule(Tally(case, "a", scale, cast, None, jury)) if cast else None  # type: ignore[arg-type]
            expected = None if counted is None else counted.value
            if isinstance(expected, str):
                expected = sorted(map(str, legal)).index(expected)
            found = answers[which, row]
            assert (math.isnan(found) and expected is None) or found == pytest.approx(expected)


@pytest.mark.parametrize("levels", [64, 65])
def test_of_more_than_64_different_answers_none_is_the_most_common(levels: int) -> None:
    votes, truth = np.arange(float(levels))[:, None], np.zeros(levels)
    for rule in ("mode", MODE_OF_WORDS):
        if levels == 64:
            assert answers(pool(votes, truth, rule), "a") == [votes[:, 0].tolist()]
        else:
            with pytest.raises(VenireError, match="65 different answers") as refused:
                VoteCounter(pool(votes, truth, rule))
            assert refused.value.remedy
    assert answers(pool(votes, truth, "median"), "a") == [votes[:, 0].tolist()]


def test_each_question_is_counted_by_its_own_rule_and_credited_on_its_own_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mixed = pool(
        [[1, 5, 3], [1, 0, 1], [1, 2, 6], [NAN, NAN, 0], [NAN, 2, NAN]],
        [2, 0, 2, 1, 4],
        ["median", BINARY, "mean", BINARY, "median"],
        width=4,
    )
    wanted = [[3, 1, 3, 0, 2], [3, NAN, 1.5, NAN, 2], [1, 1, 1, NAN, NAN]]
    assert answers(mixed, "abc", "ab", "a") == pytest.approx(np.array(wanted), nan_ok=True)
    members = np.array([[True, True, True], [True, True, False], [True, False, False]])
    credits = [[0.75, 0, 0.75, 0, 0.5], [0.75, 0, 0.875, 0, 0.5], [0.75, 0, 0.75, 0, NAN]]
    counter = VoteCounter(mixed)
    assert counter.credits(members) == pytest.approx(np.array(credits), nan_ok=True)
    means = [2 / 5, 2.125 / 5, 1.5 / 4]
    assert counter.scores(members) == pytest.approx(means)
    assert counter.scores_of_one_size(members[:1]) == pytest.approx(means[:1])
    for room in (1, 24, 33):
        monkeypatch.setattr(jury_search, "ROOM", room)
        assert VoteCounter(mixed).scores(members) == pytest.approx(means)


def test_no_more_juries_are_counted_at_a_time_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jury_search, "ROOM", 120)
    parts = [part.tolist() for part in jury_search._chunks(25, 3)]

    assert parts == [list(range(10)), list(range(10, 20)), list(range(20, 25))]
    assert [part.tolist() for part in jury_search._chunks(2, 1000)] == [[0], [1]]
    assert [len(part) for part in jury_search._chunks(121, 0)] == [120, 1]


def test_a_mean_of_credits_is_of_those_that_are_known() -> None:
    assert mean_credit(np.array([[1, NAN, 0.5], [NAN] * 3, [0, 0, 0.75], [NAN, 0.5, NAN]])) == pytest.approx([0.75, NAN, 0.25, 0.5], nan_ok=True)  # fmt: skip


def test_no_jury_at_all_earns_what_the_best_answer_to_each_attribute_does() -> None:
    """Of five numbers the middle one, 2, is nearest to all; of two words the commoner."""
    rules, attributes = ["median"] * 5 + [BINARY] * 3, list("nnnnnwww")
    laid = pool(np.zeros((8, 1)), [1, 2, 2, 5, 4, 1, 0, 0], rules, width=4, attribute=attributes)
    assert VoteCounter(laid).constant().tolist() == [0.75, 1, 1, 0.25, 0.5, 0, 1, 1]
    some = laid.at(np.array([7, 4, 3, 2, 1, 0]))
    assert VoteCounter(some).constant().tolist() == [1, 0.5, 0.25, 1, 1, 0.75]
    same_only = replace(laid, truth=np.array([2.0, 4, 4, 1, 5, 0, 1, 0]), exact=np.ones(8, dtype=bool))
    assert VoteCounter(same_only).constant().tolist() == [0, 1, 1, 0, 0, 1, 0, 1]


def right(votes: np.ndarray, truth: np.ndarray, jury: Sequence[int]) -> np.ndarray:
    """Where the majority of an odd or even jury is people's; a tie is nobody's."""
    ayes, noes = (votes[:, list(jury)] == 1).sum(axis=1), (votes[:, list(jury)] == 0).sum(axis=1)
    return ((ayes > noes) & (truth == 1)) | ((noes > ayes) & (truth == 0))


def seats(jury: np.ndarray) -> tuple[int, ...]:
    return tuple(np.flatnonzero(jury).tolist())


def binary_world(seed: int, n: int = 40, jurors: int = 7) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Some abstain now and then; few questions, so that juries tie and what they cost decides."""
    rng = RNG(seed)
    truth = rng.integers(0, 2, n).astype(float)
    votes = np.column_stack([noisy_view(truth, chance, rng) for chance in np.linspace(0.55, 0.75, jurors)])
    votes = np.where(rng.random(votes.shape) < 0.1, np.nan, votes)
    return votes, truth, rng.permutation(jurors).astype(float).tolist()


def first_best(options: list[tuple[int, ...]], votes: np.ndarray, truth: np.ndarray, cost: list[float]) -> tuple[int, ...]:  # fmt: skip
    """The best; of equal ones the cheapest, then the first."""
    return max(options, key=lambda jury: (right(votes, truth, jury).sum(), -sum(cost[seat] for seat in jury)))


@pytest.mark.parametrize("seed", range(4))
def test_where_juries_are_few_all_are_tried_and_of_equal_ones_the_cheapest_is_taken(seed: int) -> None:
    votes, truth, cost = binary_world(seed, n=12)
    for prices in (cost, [1.0] * 7):
        found = best_juries(pool(votes, truth, cost=prices), (1, 2, 3, 7))
        assert [seats(jury) for jury in found] == [
            first_best(list(combinations(range(7), size)), votes, truth, prices) for size in (1, 2, 3, 7)
        ]


def climb(jury: tuple[int, ...], votes: np.ndarray, truth: np.ndarray, cost: list[float], swaps: int) -> tuple[int, ...]:  # fmt: skip
    """One member at a time for the other who makes the best jury, as long as it is better."""
    for _ in range(swaps):
        others = [seat for seat in range(votes.shape[1]) if seat not in jury]
        options = [tuple(sorted({*jury} - {leaves} | {joins})) for leaves in jury for joins in others]
        if not options:
            break
        best = first_best(options, votes, truth, cost)
        if right(votes, truth, best).sum() <= right(votes, truth, jury).sum():
            break
        jury = best
    return jury


@pytest.mark.parametrize("seed", range(6))
def test_beyond_that_juries_grow_by_who_helps_most_and_exchange_members(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    votes, truth, cost = binary_world(seed)
    monkeypatch.setattr(jury_search, "EVERY", 63)
    wanted = [first_best([(seat,) for seat in range(7)], votes, truth, cost)]
    for size in (3, 5, 7):
        jury = wanted[-1]
        while len(jury) < size:
            jury = first_best([tuple(sorted((*jury, seat))) for seat in range(7) if seat not in jury], votes, truth, cost)  # fmt: skip
        wanted.append(climb(jury, votes, truth, cost, 20))

    assert [seats(jury) for jury in best_juries(pool(votes, truth, cost=cost), (1, 3, 5, 7))] == wanted
    worst = min(combinations(range(7), 3), key=lambda jury: right(votes, truth, jury).sum())
    counter = VoteCounter(pool(votes, truth, cost=cost))
    for swaps in (0, 1, 2, 20):
        monkeypatch.setattr(jury_search, "SWAPS", swaps)
        found = _with_exchanges(counter, np.isin(np.arange(7), worst))
        assert seats(found) == climb(worst, votes, truth, cost, swaps)


def test_every_jury_is_tried_up_to_five_thousand_of_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr(jury_search, "every_jury", lambda size, number: tried.append(number) or every_jury(size, number))  # fmt: skip
    votes, truth, _ = binary_world(0)
    for most, sizes in ((7 + 35, [1, 3]), (7 + 34, [])):
        tried.clear()
        monkeypatch.setattr(jury_search, "EVERY", most)
        best_juries(pool(votes, truth), (1, 3))
        assert tried == sizes
    assert [seats(jury) for jury in every_jury(4, 2)] == list(combinations(range(4), 2))


@pytest.mark.parametrize(
    ("scores", "costs", "first"),
    [
        ([0.5, 0.7, 0.7, 0.7], [1, 3, 2, 2], 2),
        ([0.5, 0.7 - 1e-13, 0.7], [1, 2, 3], 1),
        ([0.5, 0.7 - 1e-11, 0.7], [1, 2, 3], 2),
        ([NAN, 0.2, 0.1], [1, 2, 3], 1),
    ],
)
def test_of_equal_scores_the_cheapest_comes_first(scores: list[float], costs: list[float], first: int) -> None:  # fmt: skip
    assert _first(np.array(scores), np.array(costs)) == first


@pytest.mark.parametrize(
    ("scores", "least", "best"),
    [
        ([0.9, 0.5, 0.6], 0, 0),
        ([0.9, 0.5, 0.6], 1, 2),
        ([0.1, 0.6, 0.6], 1, 1),
        ([0.1, 0.6 - 1e-13, 0.6], 0, 1),
        ([0.1, 0.6 - 1e-11, 0.6], 1, 2),
        ([NAN, NAN, 0.6], 1, 2),
        ([0.2, NAN, 0.1], 0, 0),
    ],
)
def test_of_equal_sizes_the_smaller_is_preferred(scores: list[float], least: int, best: int) -> None:
    assert _best_of(np.array(scores), least=least) == best


@pytest.mark.parametrize(
    ("jurors", "counting", "largest", "sizes"),
    [(7, BINARY, 5, (1, 3, 5)), (7, BINARY, 6, (1, 3, 5)), (4, BINARY, 9, (1, 3)), (7, BINARY, 2, (1, 2)), (3, BINARY, 3, (1, 3)),
     (7, "median", 4, (1, 2, 3, 4)), (3, "mode", 9, (1, 2, 3)), (3, [BINARY, "mean"], 3, (1, 2, 3))],
)  # fmt: skip
def test_juries_that_could_tie_are_of_odd_sizes(jurors: int, counting: str, largest: int, sizes: tuple[int, ...]) -> None:  # fmt: skip
    assert sizes_of(pool(np.zeros((2, jurors)), [0, 1], counting), largest) == sizes


@pytest.mark.parametrize(("within", "after_all"), [(1, 2), (2, 1)])
def test_what_was_chosen_is_told_with_what_it_earns_where_it_was_chosen_and_where_not(
    monkeypatch: pytest.MonkeyPatch, within: int, after_all: int
) -> None:
    """Two rounds of three folds; inner folds prefer one judge to all juries, of which they like one size in the folds and another in the end."""
    votes, truth, cost = binary_world(10, n=30)
    laid = pool(votes, truth, cost=cost)
    outer = [fold for seed in (0, 1) for fold in folds(laid.cluster, 3, RNG(seed))]
    liking = {1: [0.9, 0.7, 0.5], 2: [0.9, 0.5, 0.7]}
    preferred = iter([liking[within]] * 6 + [liking[after_all]])
    inner: list[set[int]] = []
    monkeypatch.setattr(
        jury_search,
        "by_inner_folds",
        lambda some, sizes, rng: inner.append(set(some.cluster)) or np.array(next(preferred)),
    )
    found = held_out(laid, outer, sizes=SIZES, rng=RNG(1))

    def best(rows: np.ndarray) -> list[tuple[int, ...]]:
        return [first_best(list(combinations(range(7), size)), votes[rows], truth[rows], cost) for size in SIZES]  # fmt: skip

    def named(jury: tuple[int, ...]) -> str:
        return " + ".join("abcdefg"[seat] for seat in jury)

    earned: dict[int, list[list[bool]]] = {row: [] for row in range(30)}
    for number, (fold, told) in enumerate(zip(outer, found.selection.to_dict("records"), strict=True), 1):
        juries = best(fold.chosen_on)
        single, several = juries[0], juries[within]
        before, after = ([right(votes[rows], truth[rows], jury).mean() for jury in (several, single)] for rows in fold)  # fmt: skip
        assert told == {
            "fold": number, "size": SIZES[within], "jurors": named(several), "chosen_on": pytest.approx(before[0]), "held_out": pytest.approx(after[0]),
            "single": named(single), "single_chosen_on": pytest.approx(before[1]), "single_held_out": pytest.approx(after[1]), "n": 10,
        }  # fmt: skip
        for row in fold.held_out:
            earned[row].append([right(votes[[row]], truth[[row]], jury)[0] for jury in juries])
    by_size = np.array([np.mean(earned[row], axis=0) for row in range(30)]).T
    assert found.rows.tolist() == list(range(30)) and found.sizes == SIZES
    assert found.by_size == pytest.approx(by_size)
    for one, size in ((found.single, 0), (found.jury, within), (found.best, 0)):
        assert one == pytest.approx(by_size[size])
    final = best(np.arange(30))
    scores = [right(votes, truth, jury).mean() for jury in final]
    assert [seats(jury) for jury in found.juries] == final and seats(found.seated) == final[after_all]
    assert (found.naive_single, found.naive_jury) == pytest.approx((scores[0], max(scores[1:])))
    assert inner == [*(set(fold.chosen_on) for fold in outer), set(range(30))]


def test_with_one_test_set_all_is_chosen_on_the_rest() -> None:
    votes, truth, cost = binary_world(7, n=40)
    laid = pool(votes, truth, cost=cost)
    fold = Fold(np.arange(5, 30), np.arange(30, 40))
    found = held_out(laid, [fold], sizes=SIZES, rng=RNG(1))
    turned = held_out(replace(laid, truth=np.where(np.arange(40) < 5, 1 - truth, truth)), [fold], sizes=SIZES, rng=RNG(1))  # fmt: skip

    assert found.rows.tolist() == list(range(30, 40))
    chosen = [first_best(list(combinations(range(7), size)), votes[5:30], truth[5:30], cost) for size in SIZES]  # fmt: skip
    assert [seats(jury) for jury in found.juries] == chosen
    assert found.by_size.tolist() == [right(votes[30:], truth[30:], jury).tolist() for jury in chosen]
    # What is in neither part counts nowhere.
    pd.testing.assert_frame_equal(found.selection, turned.selection)
    assert found.naive_jury == turned.naive_jury == max(right(votes[5:30], truth[5:30], jury).mean() for jury in chosen[1:])  # fmt: skip


@pytest.mark.parametrize("a_group", [1, 2])
def test_a_size_is_worth_what_its_best_juries_earn_in_five_inner_folds(a_group: int) -> None:
    votes, truth, cost = binary_world(3, n=24)
    cluster = np.arange(24) // a_group
    found = by_inner_folds(pool(votes, truth, cost=cost, cluster=cluster), SIZES, RNG(7))
    parts = folds(cluster, 5, RNG(7))
    wanted = []
    for size in SIZES:
        juries = [first_best(list(combinations(range(7), size)), votes[part.chosen_on], truth[part.chosen_on], cost) for part in parts]  # fmt: skip
        wanted.append(sum(right(votes[part.held_out], truth[part.held_out], jury).sum() for part, jury in zip(parts, juries, strict=True)) / 24)  # fmt: skip
    assert len(parts) == 5 and found == pytest.approx(wanted)


def test_a_jury_is_named_after_its_members() -> None:
    assert jury_label(pool(np.zeros((1, 4)), [0]), np.array([True, False, True, True])) == "a + c + d"


def guessing_pool(seed: int, n: int = 100) -> Pool:
    """Jurors who know nothing: no size is better than another, and what chooses one is noise."""
    votes, truth = clueless_votes(RNG(seed), n, jurors=7)
    return pool_of(*judgement_tables(votes, truth), YES_OR_NO, "median")


@pytest.mark.parametrize("seed", range(3))
def test_what_a_fold_chooses_does_not_change_with_the_labels_it_holds_out(seed: int) -> None:
    pool = guessing_pool(seed)
    outer = folds(pool.cluster, 4, RNG(seed))
    chosen = ["size", "jurors", "chosen_on", "single", "single_chosen_on"]
    before = held_out(pool, outer, sizes=SIZES, rng=RNG(1)).selection
    for number, fold in enumerate(outer):
        truth = pool.truth.copy()
        truth[fold.held_out] = 1 - truth[fold.held_out]
        after = held_out(replace(pool, truth=truth), outer, sizes=SIZES, rng=RNG(1)).selection
        assert after.loc[number, chosen].equals(before.loc[number, chosen])
        # The held-out labels are turned round, and with them what the choice earns there.
        assert after.loc[number, "held_out"] == pytest.approx(1 - before.loc[number, "held_out"])


def test_each_jury_of_the_inner_folds_is_scored_on_questions_that_did_not_choose_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = guessing_pool(0)
    chosen_on: list[set[int]] = []
    scored_on: list[set[int]] = []

    def choosing(some: Pool, sizes: tuple[int, ...]) -> np.ndarray:
        chosen_on.append(set(some.cluster))
        return best_juries(some, sizes)

    def crediting(counter: VoteCounter, members: np.ndarray) -> np.ndarray:
        scored_on.append(set(counter.pool.cluster))
        return credits(counter, members)

    credits = VoteCounter.credits
    monkeypatch.setattr(jury_search, "best_juries", choosing)
    monkeypatch.setattr(VoteCounter, "credits", crediting)
    scores = by_inner_folds(pool, SIZES, RNG(0))

    assert scores.shape == (3,)
    assert len(chosen_on) == len(scored_on) == 5
    for chosen, scored in zip(chosen_on, scored_on, strict=True):
        assert not chosen & scored and chosen | scored == set(pool.cluster)
    assert sorted(each for scored in scored_on for each in scored) == sorted(pool.cluster)


def test_a_jurors_cost_is_the_mean_of_the_cases_whose_cost_is_known_in_full() -> None:
    rows = [
        ("a", "c1", "x", 1.0, 3.0), ("a", "c1", "y", 2.0, 1.0), ("a", "c2", "x", 9.0, 2.0), ("a", "c2", "y", None, 2.0),
        ("b", "c1", "x", 1.0, 0.0), ("b", "c1", "y", 1.0, 0.0), ("b", "c2", "x", 5.0, 0.0), ("b", "c2", "y", 1.0, 0.0),
    ]  # fmt: skip
    judged = pd.DataFrame(rows, columns=["juror", "case", "attribute", "cost", "seconds"]).assign(value=1)
    people = judged[judged["juror"] == "a"][["case", "attribute", "value"]].assign(rater="Ana")
    asked = dict.fromkeys("xy", YES_OR_NO["sound"])
    found = pool_of(judged, people, asked, "median")

    # Of a's second case only a part is known; b's seconds were written down beforehand.
    assert found.cost.tolist() == [3.0, 4.0] and found.unit == PRICED
    np.testing.assert_array_equal(found.seconds, [4.0, np.nan])
    assert any("cost was not recorded" in note for note in found.notes)
    unknown = pool_of(
        judged.assign(cost=judged["cost"].where(judged["juror"] == "a")), people, asked, "median"
    )
    assert unknown.cost.tolist() == [1.0, 1.0] and unknown.unit == VOTES
