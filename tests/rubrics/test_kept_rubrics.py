"""Rubrics, cases, ballots and ratings as files have them: what is read, what follows from it, and where each mistake is told."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kept_figures import check_kept
from talk_traces import CASE, RICH

from venire import Case, Rubric, VenireError, load_cases, load_rubric
from venire.rubrics import ballot_schema
from venire.rubrics.ballot import ballot_shape, find_quote, find_span, votes_from
from venire.rubrics.case import Exhibit, pairs_among, turn_cases
from venire.rubrics.ratings import read_ratings
from venire.rubrics.rubric import LIBRARY
from venire.rubrics.scale import preferred_side, value_words

KEPT = Path(__file__).parent / "kept"
WEIGHED = {0: {0: 1, 1: -1}, 1: {0: -2, 1: 1}, "abstention": -3}
SMALL: dict[str, Any] = {
    "name": "small",
    "version": 2,
    "scales": {
        "five": {"level": "ordinal", "anchors": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}},
        "yes": {"level": "binary", "anchors": {0: "no", 1: "yes"}, "costs": WEIGHED},
        "any": {"level": "interval", "minimum": 0, "maximum": 2.5},
        "word": {"level": "nominal", "anchors": {"x": "one", "y": "two"}},
    },
    "attributes": [
        {"name": "fit", "question": "?", "scale": "five", "anchors": {1: "v", 2: "w", 3: "x", 4: "y", 5: "z"}},
        {"name": "use", "question": "?", "scale": "yes"},
        {"name": "share", "question": "?", "scale": "any", "better": "low", "reverse_as": "rest"},
        {"name": "sort", "question": "?", "scale": "word", "asked_if": {"use": 1}},
        {"name": "harm", "question": "?", "scale": "five", "better": "low"},
    ],
    "composites": {"all": {"fit": 0.25, "rest": 0.75, "use": 0}},
}  # fmt: skip


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str, separators=(",", ":")).replace(" ", "_"))


def digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=6).hexdigest()


def test_the_rubrics_of_the_library_are_what_they_were() -> None:
    made = {}
    for file in sorted(LIBRARY.glob("*.yaml")):
        rubric = load_rubric(file.stem)
        made[file.stem] = {
            "version": rubric.version,
            "names": ",".join(rubric.names),
            "content": digest(rubric.model_dump(mode="json")),
            "schema": digest(ballot_schema(rubric)),
            "revision": digest(ballot_schema(rubric, revision=True, confidence=True)),
        }
    check_kept(KEPT / "library.json", made)


def test_what_follows_from_a_rubric_is_what_it_was() -> None:
    rubric = Rubric.model_validate(SMALL)
    assert Rubric.model_validate_json(rubric.model_dump_json()) == rubric
    pairs = rubric.as_pairs()
    costs = rubric.scale_of("use").costs
    assert costs is not None
    made = {
        "dump": rubric.model_dump(mode="json"),
        "schema": ballot_schema(rubric),
        "revision": ballot_schema(rubric, ["fit", "sort"], revision=True, confidence=True),
        "derived": [rubric.derived_scores(values) for values in ({"fit": 4, "share": 0.5, "use": 1}, {"fit": 4, "share": 0.5}, {"fit": 4}, {"share": 2.5, "sort": "x"})],
        "lengths": dict(rubric.scale_lengths),
        "scales": {n: [rubric.scale_of(n).half_step, rubric.scale_of(n).ordered, rubric.scale_of(n).numeric, list(rubric.scale_of(n).values), list(rubric.scale_of(n).ends) if rubric.scale_of(n).ordered else ""] for n in rubric.names},
        "rewards": [costs.reward(true, given) for true in (0, 1) for given in (0, 1, None)],
        "optional": [attribute.optional for attribute in rubric.attributes],
        "pairs": pairs.model_dump(mode="json"),
        "sides": [preferred_side(value) for value in (-2, -0.5, -0.4, 0, 0.5, 0.51, 1)],
        "words": [value_words(value, pair=pair) for value in (-2, -1, 0, 0.5, 1, 2.333, "x", None) for pair in (True, False)],
    }  # fmt: skip
    check_kept(KEPT / "rubric.json", plain(made))


CASES: dict[str, Case] = {
    "whole": CASE,
    "bare": Case(id="b", output="Text."),
    "one note": Case(id="n", output="Text.", source="Note.", reference="Known."),
    "a pair": Case.from_row({"id": "p1", "output_a": "First.", "output_b": "Second.", "system_a": "x", "question": "Q?"}),
    "a pair turned": Case.from_row({"id": "p2", "output_a": "First.", "output_b": "Second.", "system_b": "y"}),
    "a conversation": Case.from_row({"id": "m", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]}),
    "after a conversation": Case.from_row({"id": "o", "output": "Done.", "messages": '[{"role": "user", "content": "Hi"}]'}),
    "odd columns": Case.from_row({"id": 7, "output": "T", "mood": "x", "metadata": {"a": 1}, "group": "", "messages": "none"}),
}  # fmt: skip


def test_what_is_read_of_a_case_is_what_it_was() -> None:
    shown = RICH.model_copy(update={"reference": "shown"})
    made = {
        name: {
            "case": case.model_dump(mode="json"),
            "row": case.as_row(),
            "exhibits": [[e.name, e.text] for e in RICH.exhibits(case)],
            "with reference": [e.name for e in shown.exhibits(case)],
            "sides": list(case.sides),
            "preferred": [case.preferred_system(value) for value in (-1, 0, 1)],
            "labels": case.under_labels(1),
            "again": Case.from_row(case.as_row()) == case,
        }
        for name, case in CASES.items()
    }
    many = [
        Case(id=f"{s}{n}", output=f"{s}{n}", system=s, question=f"Q{n}", group="g" if n else None)
        for n in range(2)
        for s in "zyx"
    ]
    made["pairs"] = [[p.id, p.output, p.output_b, *p.sides, p.group] for p in pairs_among(many)]
    made["against"] = [[p.id, p.group] for p in pairs_among(many, against="y")]
    said = [
        {"role": role, "content": f"{role} {n}"}
        for n, role in enumerate(("user", "assistant", "user", "assistant"))
    ]
    made["turns"] = [
        [c.id, c.group, len(c.messages), c.output, c.system]
        for c in turn_cases([Case.from_row({"id": "t", "messages": said, "system": "s"})])
    ]
    check_kept(KEPT / "cases.json", plain(made))  # fmt: skip


def test_what_is_read_of_a_ballot_is_what_it_was() -> None:
    exhibits = (
        Exhibit(name="source 1", text="Fever of 38.4 on\n Monday."),
        Exhibit(name="output", text="Fever on “Monday”."),
    )
    quotes = ["fever OF 38.4 on monday", '"Fever on"', "…Monday…", "Tuesday", "...", "", "of  38.4"]
    part = {"rationale": "R", "evidence": quotes, "moved_by": "m", "confidence": "low"}
    shape = ballot_shape(RICH, ["accurate", "plan"], revision=True, confidence=True)
    filled = shape.model_validate(
        {"accurate": {**part, "score": 3}, "plan": {**part, "score": "not_applicable"}}
    )
    made: dict[str, Any] = {
        "votes": [vote.model_dump() for vote in votes_from(filled, exhibits)],
        "quotes": [find_quote(text, exhibits).exhibit for text in quotes],
        "spans": [list(find_span(text, exhibits[0].text) or ()) for text in quotes],
    }
    check_kept(KEPT / "ballot.json", plain(made))  # fmt: skip


TABLES = {
    "long": 'case,rater,attribute,value,round,rationale\nc1,ana,fit,4,1,\'=Why\nc1,ana,fit,5,2,\nc1,ana,fit,3,,\nc1,ben,fit,not_applicable,,x\nc2,ben,use,,1,\nc2,cy,share,"1,5",,\n',
    "wide": "case,rater,fit,use\nc1,ana,4,1\nc1,ben,,0\nc2,ana,x,nan\n",
    "semicolons": "case;rater;attribute;value\nc1;ana;fit;1,5\n",
}
WRONG_TABLES = {
    "a column missing": "case,rater,attribute\nc1,ana,fit\n",
    "twice": "case,rater,attribute,value\nc1,ana,fit,1\nc1,ana,fit,2\n",
    "twice in round 0": "case,rater,attribute,value,round\nc1,ana,fit,1,\nc1,ana,fit,2,0\n",
    "blank": "case,rater,attribute,value\n,ana,fit,1\n",
    "no round": "case,rater,attribute,value,round\nc1,ana,fit,1,first\n",
    "endless": "case,rater,attribute,value\nc1,ana,fit,inf\n",
    "ambiguous": 'case,rater,attribute,value\nc1,ana,fit,"1,250"\n',
    "no scores": "case,rater\nc1,ana\n",
    "nothing": "case,rater,attribute,value\n",
}  # fmt: skip


def test_ratings_are_read_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    made: dict[str, Any] = {}
    for name, text in TABLES.items():
        file.write_text(text)
        made[name] = [",".join(str(getattr(r, field)) for field in ("case", "rater", "attribute", "value", "round", "rationale")) for r in read_ratings(file)]  # fmt: skip
    for name, text in WRONG_TABLES.items():
        file.write_text(text)
        made[name] = told(lambda: list(read_ratings(file)), tmp_path)
    check_kept(KEPT / "ratings.json", plain(made))


WRONG: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no version": lambda r: r.pop("version"),
    "an unknown key": lambda r: r.update(scale={}),
    "no scales": lambda r: r.update(scales={}),
    "no attributes": lambda r: r.update(attributes=[]),
    "an unknown level": lambda r: r["scales"]["five"].update(level="ordnal"),
    "no anchors": lambda r: r["scales"]["five"].pop("anchors"),
    "anchors and ends": lambda r: r["scales"]["five"].update(minimum=1),
    "anchors out of order": lambda r: r["scales"]["five"].update(anchors={2: "a", 1: "b"}),
    "a binary scale of three": lambda r: r["scales"]["yes"].update(
        anchors={0: "a", 1: "b", 2: "c"}, costs=None
    ),
    "ends of an ordinal scale": lambda r: r["scales"]["any"].update(level="ordinal"),
    "ends turned round": lambda r: r["scales"]["any"].update(minimum=3),
    "a cost missing": lambda r: r["scales"]["yes"].update(costs={0: {0: 1, 1: 0}, "abstention": 0}),
    "a cost in words": lambda r: r["scales"]["yes"].update(costs={**WEIGHED, 0: {0: 1, 1: "low"}}),
    "no cost of silence": lambda r: r["scales"]["yes"].update(costs={0: {0: 1, 1: 0}, 1: {0: 1, 1: 0}}),
    "a strange answer's cost": lambda r: r["scales"]["yes"].update(costs={**WEIGHED, 1: {0: 1, 1: 1, 2: 1}}),
    "a name twice": lambda r: r["attributes"][1].update(name="fit"),
    "a reversed name twice": lambda r: r["attributes"][2].update(reverse_as="fit"),
    "an unknown scale": lambda r: r["attributes"][0].update(scale="fiv"),
    "other levels": lambda r: r["attributes"][0].update(anchors={1: "v", 2: "w"}),
    "a condition ahead": lambda r: r["attributes"][0].update(asked_if={"use": 1}),
    "a condition of no value": lambda r: r["attributes"][3].update(asked_if={"use": 2}),
    "words reversed": lambda r: r["attributes"][3].update(reverse_as="tros"),
    "a composite of nothing": lambda r: r["composites"]["all"].update(fitt=0),
    "a composite of too much": lambda r: r["composites"]["all"].update(fit=0.5),
    "a composite named as an attribute": lambda r: r["composites"].update(fit={"use": 1}),
    "a pair on five levels": lambda r: r.update(kind="pair"),
    "an unknown reference": lambda r: r.update(reference="seen"),
    "a name in capitals": lambda r: r.update(name="Small"),
}


def test_every_mistake_in_a_rubric_is_told_at_its_place(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    made: dict[str, str] = {}
    for name, spoil in WRONG.items():
        rubric = yaml.safe_load(yaml.safe_dump(SMALL))
        spoil(rubric)
        file.write_text(yaml.safe_dump(rubric, sort_keys=False))
        made[name] = told(lambda: load_rubric(file), tmp_path)
    rows = {
        "no id": '{"output": "T"}',
        "no output": '{"id": "a"}',
        "blank": '{"id": "a", "output": " "}',
        "two of a name": '{"id": "a", "output": "T"}\n{"id": "a", "output": "T"}',
        "an empty pair": '{"id": "a", "output_a": "", "output_b": ""}',
        "a source of numbers": '{"id": "a", "output": "T", "source": {"a": 1}}',
        "nothing": "",
        "a list": "[1]",
    }
    cases = tmp_path / "cases.jsonl"
    for name, text in rows.items():
        cases.write_text(text)
        made[name] = told(lambda: list(load_cases(cases)), tmp_path)
    check_kept(KEPT / "wrong.json", made)


def told(read: Callable[[], Any], folder: Path) -> str:
    """Where a mistake is and which names and numbers are told, without the sentences around them."""
    with pytest.raises(VenireError) as caught:
        read()
    text = f"{caught.value.problem} -> {caught.value.remedy}".replace(f"{folder}/", "")
    names = re.findall(r"\w+\.(?:yaml|csv|jsonl):\d+|'[^']*'|\b[a-z_]+(?:\.\w+)+|-?\d+(?:\.\d+)?", text)
    return f"{type(caught.value).__name__}:{','.join(names)}".replace(" ", "_")
