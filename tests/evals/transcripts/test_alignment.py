"""The lexical aligner, the rules and the accuracy: the paper's toy, the six released calls, planted calls, odd ones."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_file

from venire.evals.transcripts import aligners
from venire.evals.transcripts.accuracy import AlignmentAccuracy, alignment_accuracy
from venire.evals.transcripts.aligners import lexical_alignment
from venire.evals.transcripts.alignment import (
    NOTHING,
    AlignedGroup,
    AlignerAbstention,
    Alignment,
    alignment_cases,
    empty_alignment,
    read_alignment,
    read_groups,
    similarity,
    spoken_words,
    write_alignment,
)
from venire.evals.transcripts.alignment_page import (
    alignment_sentences,
    alignment_table,
    write_alignment_page,
)
from venire.evals.transcripts.refinement import refine
from venire.evals.transcripts.talk import Talk, Utterance, read_talk
from venire.rubrics import InvalidFile, VenireError

CALLS = [
    "day1-consultation02", "day1-consultation04", "day2-consultation02",
    "day2-consultation05", "day3-consultation01", "day3-consultation06",
]  # fmt: skip
VOCABULARY = [
    "pain",
    "chest",
    "since",
    "monday",
    "morning",
    "tablets",
    "breathing",
    "worse",
    "swelling",
    "doctor",
    "allergic",
    "penicillin",
    "weeks",
    "ago",
    "quite",
    "really",
    "left",
    "right",
    "knee",
    "stomach",
    "headache",
    "dizzy",
    "sleep",
    "work",
    "daughter",
    "mother",
    "cough",
    "fever",
    "water",
    "blood",
    "pressure",
    "twice",
    "daily",
    "started",
    "stopped",
    "better",
]


def group(said: list[int], heard: list[int]) -> AlignedGroup:
    return AlignedGroup(said=tuple(said), heard=tuple(heard))


def talk(*texts: str) -> Talk:
    return Talk("talk", tuple(Utterance(text=text) for text in texts))


def released(call: str) -> tuple[Alignment, tuple[AlignedGroup, ...], Path]:
    folder = shared_file("wer-is-unaware/alignment/data")
    texts = folder / "asr-transcripts"
    alignment = empty_alignment(
        read_talk(texts / f"golden_{call}-combined.json"),
        read_talk(texts / f"patient_{call}-combined_deepgram.json"),
    )
    gold = read_groups(folder / f"groundtruth-alignments/groundtruth_alignment_{call}-combined_deepgram.json")
    return alignment, gold, folder / f"llm-alignments/llm_alignment_{call}_deepgram.json"


def accuracy(alignment: Alignment, gold: tuple[AlignedGroup, ...]) -> AlignmentAccuracy:
    return alignment_accuracy(alignment.groups, gold, said=len(alignment.said), heard=len(alignment.heard))


def test_the_papers_toy() -> None:
    gold = [group([0], [0]), group([1], [1]), group([2], [2, 3])]
    given = [group([0], [0]), group([1], [1]), group([2], [2])]
    found = alignment_accuracy(given, gold, said=4, heard=5)

    assert (found.said_accuracy, found.heard_accuracy, found.structural) == (1.0, 0.8, 0.75)


@pytest.mark.parametrize(
    ("said", "heard", "invented"),
    [([1], [1], 1), ([1], [0], 1), ([0], [1], 1), ([0], [0], 0), ([0, 1], [0, 1], 0)],
)
def test_a_group_is_invented_where_the_gold_leaves_one_side_of_it_alone(
    said: list[int], heard: list[int], invented: int
) -> None:
    found = alignment_accuracy([group(said, heard)], [group([0], [0])], said=2, heard=2)

    assert len(found.invented_groups) == invented
    assert len(found.wrong_groups) == ((said, heard) != ([0], [0]))
    assert found.said_errors == tuple(place for place in (0, 1) if (place in said) != (place == 0))
    assert found.heard_errors == tuple(place for place in (0, 1) if (place in heard) != (place == 0))


def test_an_invented_group_is_an_error() -> None:
    found = alignment_accuracy([group([0], [0]), group([1], [1])], [group([0], [0])], said=2, heard=2)

    assert (found.said_errors, found.wrong_utterances) == ((1,), (1,))
    assert (len(found.invented_groups), found.structural_groups) == (1, 0.5)


def test_what_stands_in_several_groups_is_said_once_and_a_place_twice_in_one_group_is_none() -> None:
    given = [group([0, 1], [0, 0, 1]), group([1], [1]), group([2], [3]), group([3], [3])]
    found = alignment_accuracy(given, [group([0, 1], [0, 1]), group([2], [2]), group([3], [3])], said=5, heard=5)  # fmt: skip

    assert (found.repeated_said, found.repeated_heard) == ((1,), (1, 3))
    assert (found.said_errors, found.heard_errors, found.wrong_utterances) == ((), (2,), (2,))
    assert found.wrong_groups == (group([0, 1], [0, 1]), group([2], [2]))
    assert (found.structural, found.structural_groups) == (0.8, pytest.approx(1 / 3))
    told = found.to_json()
    assert told["heard"] == {"n": 5, "errors": [2], "accuracy": 0.8} and told["structural_groups"]["n"] == 3
    nothing = alignment_accuracy([], [], said=0, heard=0).to_json()
    assert nothing["said"] == {"n": 0, "errors": [], "accuracy": None}


def test_the_released_alignments_have_the_published_errors() -> None:
    found = []
    for call in CALLS:
        alignment, gold, model = released(call)
        found.append(accuracy(alignment.model_copy(update={"groups": read_groups(model)}), gold))

    assert (sum(each.said for each in found), sum(len(each.said_errors) for each in found)) == (238, 4)
    assert (sum(each.heard for each in found), sum(len(each.heard_errors) for each in found)) == (299, 5)
    assert sum(len(each.wrong_utterances) for each in found) == 13
    assert sum(len(each.wrong_groups) for each in found) == 12
    assert found[0].repeated_heard == (5,)


def test_the_lexical_aligner_on_the_released_calls() -> None:
    found, slowest = [], 0.0
    for call in CALLS:
        alignment, gold, _ = released(call)
        started = time.thread_time()
        aligned = refine(lexical_alignment(alignment))
        slowest = max(slowest, time.thread_time() - started)
        found.append(accuracy(aligned, gold))
        assert refine(aligned) == aligned
    said, heard = sum(each.said for each in found), sum(each.heard for each in found)

    assert 1 - sum(len(each.wrong_utterances) for each in found) / said >= 0.97
    assert 1 - sum(len(each.said_errors) for each in found) / said >= 0.97
    assert 1 - sum(len(each.heard_errors) for each in found) / heard >= 0.97
    assert slowest < 5


def test_texts_without_a_word_in_common_are_not_paired() -> None:
    def alignment(said: list[str], heard: list[str]) -> Alignment:
        return Alignment(
            name="x", said=[Utterance(text=t) for t in said], heard=[Utterance(text=t) for t in heard]
        )

    assert lexical_alignment(alignment(["No."], ["Yes."])).groups == ()
    assert lexical_alignment(alignment(["Yes.", "Stop it.", "Why?"], ["Fine.", "Carry on."])).groups == ()
    asked = "Do you take any pills?"
    beside = lexical_alignment(alignment([asked, "Yeah.", "Mm."], [asked, "hi", "so"]))
    assert [(each.said, each.heard) for each in beside.groups] == [((0,), (0,))]
    spelt = lexical_alignment(alignment(["OK.", "Um.", "Bye."], ["okay", "um", "bye"]))
    assert len(spelt.groups) == 3, "two spellings of one word, and a filler that is all there is"


def planted(seed: int, count: int = 60) -> tuple[Alignment, tuple[AlignedGroup, ...]]:
    """A call with splits, merges, drops, misheard words and strays, and its true groups."""
    rng = random.Random(seed)
    said = [
        rng.choice(["Yeah.", "OK.", "No.", "Yes, yeah."]) if rng.random() < 0.3 else " ".join(rng.choices(VOCABULARY, k=rng.randint(3, 14)))
        for _ in range(count)
    ]  # fmt: skip
    heard: list[str] = []
    gold: list[AlignedGroup] = []
    place = 0
    while place < count:
        if rng.random() < 0.05:
            heard.append("so right then")
        if rng.random() < 0.08:
            place += 1
            continue
        size = 2 if rng.random() < 0.1 and place + 1 < count else 1
        words = [
            word if rng.random() > 0.1 else rng.choice(["the", "so", "it"])
            for word in spoken_words(" ".join(said[place : place + size]))
        ]
        cuts = sorted(rng.sample(range(1, len(words)), min(rng.randint(1, 3), len(words) - 1))) if rng.random() < 0.2 else []  # fmt: skip
        parts = [" ".join(words[a:b]) for a, b in zip([0, *cuts], [*cuts, len(words)], strict=True)]
        gold.append(group([*range(place, place + size)], [*range(len(heard), len(heard) + len(parts))]))
        heard += parts
        place += size
    return empty_alignment(talk(*said), talk(*heard)), tuple(gold)


@pytest.mark.parametrize("seed", range(4))
def test_splits_merges_and_drops_that_were_planted(seed: int) -> None:
    alignment, gold = planted(seed)
    assert accuracy(refine(lexical_alignment(alignment)), gold).structural >= 0.85


def test_a_long_call_is_aligned_in_a_window() -> None:
    alignment, gold = planted(9, 400)
    started = time.thread_time()
    found = refine(lexical_alignment(alignment))

    assert accuracy(found, gold).structural >= 0.85
    assert time.thread_time() - started < 60


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ((), ()),
        (("Hello.",), ()),
        ((), ("hello",)),
        (("", "Um."), ("",)),
        (("لا يوجد ألم", "نعم"), ("لا يوجد الم", "نعم")),
        (("痛みはありません。", "はい。"), ("痛みはありません", "はい")),
    ],
)
def test_odd_talks(said: tuple[str, ...], heard: tuple[str, ...]) -> None:
    alignment = refine(lexical_alignment(empty_alignment(talk(*said), talk(*heard))))

    assert {place for g in alignment.groups for place in g.said} | set(alignment.missed) == set(
        range(len(said))
    )
    if said and all(len(text) > 1 for text in (*said, *heard)) and len(said) == len(heard):
        assert [(g.said, g.heard) for g in alignment.groups] == [((0,), (0,)), ((1,), (1,))]


@pytest.mark.parametrize("seed", range(30))
def test_any_proposal_becomes_legal_and_stays_as_it_is(seed: int) -> None:
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(VOCABULARY, k=rng.randint(1, 5))) for _ in range(8)]
    base = empty_alignment(talk(*texts), talk(*rng.sample(texts, 6)))
    groups = tuple(
        group(rng.choices(range(-1, 10), k=rng.randint(0, 3)), rng.choices(range(8), k=rng.randint(0, 3)))
        for _ in range(rng.randint(0, 8))
    )
    found = refine(base.model_copy(update={"groups": groups}))

    for side in ("said", "heard"):
        places = [place for each in found.groups for place in getattr(each, side)]
        assert len(places) == len(set(places)) and set(places) <= set(range(8))
    again = refine(found)
    assert (again.groups, again.log) == (found.groups, found.log)
    assert (found.said, found.heard) == (base.said, base.heard)


def test_each_rule_is_logged() -> None:
    base = empty_alignment(
        talk("I know that", "but it is different now", "my knee hurts badly", "thank you"),
        talk("i know that but it is different now", "my knee", "hurts badly", "thank you"),
    )
    proposal = (group([0], [0]), group([1], [0]), group([2], [1]))
    found = refine(base.model_copy(update={"groups": proposal}))

    assert [(g.said, g.heard) for g in found.groups] == [((0, 1), (0,)), ((2,), (1, 2)), ((3,), (3,))]
    assert sorted(change.rule for change in found.log) == [
        "duplicates-merged",
        "fragments-joined",
        "miss-recovered",
    ]


def test_of_others_that_share_a_segment_the_most_similar_keeps_it() -> None:
    base = empty_alignment(talk("yes", "no pain at all", "yes"), talk("no pain at all"))
    found = refine(base.model_copy(update={"groups": (group([0], [0]), group([2], [0]), group([1], [0]))}))
    assert [(g.said, g.heard) for g in found.groups] == [((0, 1, 2), (0,))]

    found = refine(base.model_copy(update={"groups": (group([0], [0]), group([2], [0]))}))
    assert [g.heard for g in found.groups] == [(0,)] and "duplicate-dropped" in {c.rule for c in found.log}
    base = empty_alignment(talk("no pain today", "yes", "no pain at all"), talk("no pain at all"))
    for order in (1, -1):
        claims = (group([0], [0]), group([2], [0]))[::order]
        assert refine(base.model_copy(update={"groups": claims})).groups == (group([2], [0]),)


def test_a_missed_utterance_is_looked_for_between_its_neighbours_alone() -> None:
    """Segment 1 has the missed words, but stands within the first group's; where it stands after it, it is taken."""
    said, heard = talk("my knee hurts", "thank you doctor", "bye now"), ["my knee", "thank you doctor", "hurts", "bye now"]  # fmt: skip
    within = empty_alignment(said, talk(*heard)).model_copy(update={"groups": (group([0], [0, 2]), group([2], [3]))})  # fmt: skip
    after = empty_alignment(said, talk("my knee", "hurts", "thank you doctor", "bye now")).model_copy(update={"groups": (group([0], [0, 1]), group([2], [3]))})  # fmt: skip

    assert refine(within).groups == within.groups and refine(within).missed == (1,)
    assert refine(after).groups == (group([0], [0, 1]), group([1], [2]), group([2], [3]))
    late = empty_alignment(said, talk("my knee hurts", "bye now", "thank you doctor")).model_copy(update={"groups": (group([0], [0]), group([2], [1]))})  # fmt: skip
    assert refine(late).groups == late.groups and (refine(late).missed, refine(late).unused) == ((1,), (2,))


@pytest.mark.parametrize("offset", [0.0, 100.0, -7.0])
@pytest.mark.parametrize("second", [False, True])
def test_of_two_equal_answers_the_one_at_its_time_was_heard(offset: float, second: bool) -> None:
    texts = ["my chest hurts since monday", "the left knee is swelling", "yes", "yes", "penicillin twice daily please"]  # fmt: skip
    starts = [0.0, 10.0, 20.0, 60.0, 80.0]
    said = Talk("c", tuple(Utterance(text=text, start=at, end=at + 3) for text, at in zip(texts, starts, strict=True)))  # fmt: skip
    kept = [0, 1, 3 if second else 2, 4]
    heard = Talk("h", tuple(Utterance(text=texts[n], start=starts[n] + offset, end=starts[n] + offset + 3) for n in kept))  # fmt: skip

    found = lexical_alignment(empty_alignment(said, heard))
    assert found.groups == tuple(group([n], [place]) for place, n in enumerate(kept))
    assert found.missed == (2 if second else 3,) and found.aligner == "lexical"


def longest_common(one: str, other: str) -> int:
    rows = [0] * (len(other) + 1)
    for letter in one:
        before = rows[:]
        for at, against in enumerate(other, 1):
            rows[at] = before[at - 1] + 1 if letter == against else max(before[at], rows[at - 1])
    return rows[-1]


@given(st.text("abc", min_size=1, max_size=8), st.text("abc", min_size=1, max_size=8))
def test_a_word_is_close_by_the_letters_in_common_in_order(one: str, other: str) -> None:
    share = 2 * longest_common(one, other) / (len(one) + len(other))
    close = one == other or (min(len(one), len(other)) >= 3 and share >= aligners.CLOSE - 1e-9)
    # Only words with the same first letter, or the same last two, are looked at.
    looked_at = one[0] == other[0] or one[-2:] == other[-2:]
    found = lexical_alignment(empty_alignment(talk(one), talk(other))).groups

    assert bool(found) == (close and looked_at)


def test_what_a_model_answers_is_checked_place_by_place() -> None:
    alignment = empty_alignment(talk("a", "b", "c"), talk("d", "e"))

    def problem(*groups: tuple[list[int], list[int]]) -> str | None:
        answer = {"groups": [{"said": said, "heard": heard} for said, heard in groups]}
        return aligners._problem(aligners.AlignmentAnswer.model_validate(answer), alignment)

    assert problem() is problem(([0], [0]), ([1, 2], [1])) is problem(([2], [1])) is None
    assert "heard has no number 2" in str(problem(([0], [2])))
    assert "said has no number -1" in str(problem(([-1], [0])))
    assert "without a number under 'heard'" in str(problem(([0], [])))
    assert "said 0 appears twice" in str(problem(([0], [0]), ([0], [1])))
    assert "heard 0 appears twice, or out of order" in str(problem(([0], [1]), ([1], [0])))
    assert "said 0 and 2 are in one group, but not consecutive" in str(problem(([0, 2], [0])))


def test_a_group_is_told_with_its_times_its_confidence_and_its_kind() -> None:
    heard = [Utterance(text="My chest", start=2.0, end=3.0, confidence=0.5), Utterance(text="hurts.", start=4.0, end=None, confidence=1.0), Utterance(text="Yes!")]  # fmt: skip
    alignment = Alignment(name="c", said=talk("My chest hurts", "yes", "no").utterances, heard=tuple(heard), groups=(group([0], [0, 1]), group([1], [2])))  # fmt: skip
    both, exact = alignment.to_json()["groups"]

    assert {name: both[name] for name in ("kind", "start", "end", "time", "confidence", "heard_text")} == {"kind": "multi_fragment", "start": 2.0, "end": 3.0, "time": 3.25, "confidence": 0.75, "heard_text": "My chest hurts."}  # fmt: skip
    assert (exact["kind"], exact["start"], exact["time"], exact["confidence"], exact["similarity"]) == ("exact", None, None, None, 1.0)  # fmt: skip
    assert alignment.match_kind(group([1], [1])) == "fuzzy"
    assert (alignment.missed, alignment.unused) == ((2,), ())
    longer = alignment.model_copy(update={"heard": (*heard[:1], Utterance(text="b", start=1.0, end=9.0)), "groups": (group([0], [0, 1]),)})  # fmt: skip
    assert [longer.to_json()["groups"][0][name] for name in ("start", "end")] == [1.0, 9.0]


def test_similarity_is_the_papers() -> None:
    assert similarity("No pain.", "no pain") == pytest.approx(1)
    assert similarity("", "words") == 0
    assert similarity("a b", "a c") == pytest.approx(0.5 * (2 / 3) + 0.3 / 3 + 0.2)


def test_cases_have_what_was_said_and_heard_and_the_turns_before(tmp_path: Path) -> None:
    turns = [("Doctor", "Any pain?"), ("Patient", "No, none."), ("Doctor", "Any allergies?"), ("Patient", "Penicillin."), ("Patient", "Bye.")]  # fmt: skip
    said = Talk("call", tuple(Utterance(speaker=s, text=t) for s, t in turns), "Patient")
    alignment = lexical_alignment(empty_alignment(said, talk("no none", "bye")))
    first, second, third = alignment_cases(alignment)

    assert first == {"id": "call-0", "reference": "No, none.", "output": "no none", "source": "Doctor: Any pain?", "group": "call", "missed": False}  # fmt: skip
    assert (second["output"], second["missed"]) == (NOTHING, True)
    assert second["source"].splitlines() == [
        "Doctor: Any pain?",
        "Patient: No, none.",
        "Doctor: Any allergies?",
    ]
    assert third["source"].splitlines() == ["Patient: No, none.", "Doctor: Any allergies?", "Patient: Penicillin."]  # fmt: skip
    assert [row["id"] for row in alignment_cases(alignment, differing=True)] == ["call-1"]
    assert third["reference"] == "Bye."
    # Of utterances that belong together, the turns are those before the first.
    joined = alignment_cases(alignment.model_copy(update={"groups": (group([0, 1], [0]),)}))
    assert [(row["id"], row["reference"], row.get("source", "").count("\n")) for row in joined] == [("call-0+1", "No, none. Penicillin.", 0), ("call-2", "Bye.", 2)]  # fmt: skip
    unplaced = alignment_cases(alignment.model_copy(update={"groups": (group([1, 2], [1]),), "places": (), "turns": ()}))  # fmt: skip
    assert unplaced[-1]["source"] == "Patient: No, none."

    write_alignment(tmp_path / "a.json", alignment)
    assert read_alignment(tmp_path / "a.json") == alignment
    assert read_groups(tmp_path / "a.json") == alignment.groups


def test_a_page_has_a_row_a_group_with_what_was_missed_and_what_nobody_said_in_its_place(
    tmp_path: Path,
) -> None:
    said = Talk("call", tuple(Utterance(text=text, start=start) for text, start in (("I took two pills.", 1.5), ("Yes.", None), ("<b>No</b> pain", 9.0), ("at all.", 10.0))))  # fmt: skip
    heard = talk("crackle", "I took too pills today", "no pain at all", "click", "bye")
    alignment = empty_alignment(said, heard).model_copy(update={"groups": (group([0], [1]), group([2, 3], [2])), "aligner": "by hand"})  # fmt: skip
    write_alignment_page(alignment, tmp_path / "a.html")
    html = (tmp_path / "a.html").read_text()
    rows = re.findall(r'<tr class="(\w+)">(.*?)</tr>', html)
    cells = [[re.sub(r"<(?!/?(?:del|mark))[^>]*>", "", cell).split() for cell in re.findall(r"<td.*?</td>", row)] for _, row in rows]  # fmt: skip
    assert [kind for kind, _ in rows] == ["alone", "linked", "alone", "linked", "alone", "alone"]
    assert [" ".join(cell) for row in cells for cell in row] == [
        "", "nobody said it", "0 crackle",
        "0 at 1.5 s I took <del>two</del> pills.", f"fuzzy {alignment.group_similarity(group([0], [1])):.2f}", "1 I took <mark>too</mark> pills <mark>today</mark>",
        "1 Yes.", "missed", "",
        "2–3 at 9.0 s <del>&lt;b&gt;No&lt;/b&gt;</del> pain at all.", f"multi fragment {alignment.group_similarity(group([2, 3], [2])):.2f}", "2 <mark>no</mark> pain at all",
        "", "nobody said it", "3 click", "", "nobody said it", "4 bye",
    ]  # fmt: skip
    (sentence,) = alignment_sentences(alignment)
    assert "4 utterances and 5 segments into 2 groups; 1 groups join" in sentence
    assert "Utterances without a segment: 1; segments without an utterance: 3" in sentence
    told = alignment_table(alignment)
    assert next(zip(*(column.cells for column in told.columns), strict=True)) == ("", "(not said)", "0", "crackle")  # fmt: skip

    silent = alignment.model_copy(
        update={"groups": (), "abstention": AlignerAbstention(reason="refused", detail="no")}
    )
    write_alignment_page(silent, tmp_path / "b.html")
    html = (tmp_path / "b.html").read_text()
    assert html.count('class="linked"') == 4 and html.count('class="alone"') == 1 and "<del>" not in html
    assert "missed</td>" not in html and "no utterance is counted as missed" in html
    write_alignment_page(silent.model_copy(update={"heard": silent.heard[:1]}), tmp_path / "c.html")
    assert (tmp_path / "c.html").read_text().count('class="alone"') == 3


def test_a_talk_of_fillers_is_known_by_them_and_groups_without_a_side_are_none(tmp_path: Path) -> None:
    found = lexical_alignment(empty_alignment(talk("um", "my um chest", "Mm-hmm."), talk("um", "my chest", "mm hmm")))  # fmt: skip
    assert found.groups == (group([0], [0]), group([1], [1]), group([2], [2]))
    path = tmp_path / "a.json"
    path.write_text('{"alignments": [{"golden_indices": [0, 1], "asr_indices": 2}, {"golden_indices": [3], "asr_indices": []}]}')  # fmt: skip
    assert read_groups(path) == (group([0, 1], [2]),)


def test_files_that_are_no_alignments(tmp_path: Path) -> None:
    for text in (
        "[]",
        '{"x": 1}',
        '{"alignments": [{"golden_indices": ["a"], "asr_indices": [0]}]}',
        '{"groups": 3}',
    ):
        path = tmp_path / "a.json"
        path.write_text(text)
        with pytest.raises(InvalidFile):
            read_groups(path)
    with pytest.raises(VenireError, match="names position 7"):
        alignment_accuracy([], [group([7], [0])], said=3, heard=3)


def test_fragments_on_both_sides_of_a_group_are_joined_and_what_makes_it_less_alike_is_not() -> None:
    said = talk("the pain began on monday morning after breakfast at home")
    heard = talk("so", "the pain began", "on monday morning", "after breakfast at home", "next one please")
    found = refine(empty_alignment(said, heard).model_copy(update={"groups": (group([0], [2]),)}))

    assert found.groups == (group([0], [1, 2, 3]),)
    assert [change.heard for change in found.log] == [(1, 2), (1, 2, 3)]
