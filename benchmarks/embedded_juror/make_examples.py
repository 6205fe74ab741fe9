"""Ballots, revisions, challenges, ledgers and decisions on texts with known faults, to teach the embedded juror from.

    python benchmarks/embedded_juror/make_examples.py MTS-Dialog-TrainingSet.csv OUT.gz --count 60000 --seed 7

The clean texts are the clinician-written notes of MTS-Dialog (Ben Abacha et al., EACL 2023, CC BY 4.0), each with its
dialogue as the source, mostly with other particulars and wordings than they had (`variation.py`); what their patients say,
told in the third person (`retelling.py`); and the invented cases of `stories.py` and `talks.py`. The file holds each line of text once; `train.py`
puts the examples together again.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import pickle
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from asked_rubrics import CLINICAL, PDSQI, drawn_rubric
from checks import check_of_machine, check_of_note, check_of_source
from deliberations import (
    PERSONAS,
    UNTAUGHT,
    Example,
    Situation,
    ballot,
    challenge,
    decision,
    ledger,
    revision,
)
from machine_notes import MachineNote, machine_notes
from retelling import retold
from right_ballots import aspect_of
from stories import story
from talks import Slip, slipped, talk, with_facts
from variation import reworded, varied

from venire import Case, Rubric
from venire.evals.training.examples import PromptTooLong
from venire.evals.training.faults import points_for
from venire.evals.training.passages import Truth, passages
from venire.evals.training.planting import Fault, PlantedText, plant, truth_of

HELD_OUT = 10
"""One dialogue in ten of the training file is kept for looking at how training goes."""
CLEAN = 0.24
"""Texts in which nothing is planted at all."""
STORIES, TALKS = 0.26, 0.18
"""Shares of invented hospital cases and of invented talks; the rest is from MTS-Dialog."""
EXCERPTS, SHORTENED = 0.1, 0.35
"""Shares of texts that are excerpts of clinicians' notes, and of hospital summaries that are cut short and asked about for their accuracy alone."""
CHECKS, MACHINE = 0.12, 0.17
"""Shares of claims to be checked, and of ballots on machines' notes, where there are some."""
MACHINE_CLEAN = 0.5
"""Share of machines' notes in which nothing of accuracy is wrong."""
VARIED, TWO_CASES, RETOLD, MORE_FACTS = 0.8, 0.08, 0.15, 0.4
"""Shares of the texts from MTS-Dialog with other particulars, of two cases put together, of those told from the patients' words, and of those with
invented facts among their own."""
SLIPS = 0.7
"""Faults of accuracy that are another value of a kind, where an invented fact allows it."""
CHANCES = {"accurate": 0.54, "thorough": 0.46, "organized": 0.12, "succinct": 0.14, "stigmatizing": 0.12}
ACCURACY = ("number", "number", "negation", "negation", "term", "term", "fabrication", "fabrication")
KINDS = tuple(CHANCES)
KIND_OF = {"thorough": "omission", "organized": "order", "succinct": "repetition", "stigmatizing": "stigma"}

_CODE = re.compile(r"begins ([0-9a-f]{16})\]\]")


def mts_cases(path: Path) -> list[Case]:
    """The notes of a file of MTS-Dialog, each with its dialogue as the source."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Case(
                id=f"mts-{row['ID']}",
                output=row["section_text"].strip(),
                source=row["dialogue"].strip(),
                group=row["section_header"],
            )
            for row in csv.DictReader(file)
            if row["section_text"].strip() and row["dialogue"].strip()
        ]


class Maker:
    """Makes examples from one stream of chance."""

    def __init__(self, cases: list[Case], seed: int, notes: Sequence[MachineNote] = ()) -> None:
        self.rng = random.Random(seed)
        self.notes = notes
        wrong = [any(f.attribute == "accurate" for f in note.planted.faults) for note in notes]
        self.wrong_notes = [n for n, is_wrong in zip(notes, wrong, strict=True) if is_wrong]
        self.right_notes = [
            n for n, is_wrong in zip(notes, wrong, strict=True) if not is_wrong and n.accuracy_known
        ]
        self.cases = cases
        self.truths = {case.id: truth_of(case) for case in cases}
        self.weights = [min(len(case.output.split()), 80) ** 0.6 for case in cases]
        self.foreign: dict[str, list[str]] = {}
        for case in cases:
            self.foreign.setdefault(case.group or "", []).extend(p.text for p in passages(case.output))
        self.anything = [text for texts in self.foreign.values() for text in texts]
        self.rubrics = [drawn_rubric(self.rng) for _ in range(120)]
        self.told = [p.text for _ in range(400) for p in passages(story(self.rng).summary)]

    def examples(self, count: int) -> Iterator[Example]:
        while count > 0:
            draw = self.rng.random() if self.notes else 1.0
            try:
                if draw < CHECKS:
                    example = self._check()
                elif draw < CHECKS + MACHINE:
                    example = self._of_machine()
                else:
                    example = self._of_one_text()
            except PromptTooLong:
                continue
            if example is not None:
                yield example
                count -= 1

    def _check(self) -> Example | None:
        """A claim to check; None where what was drawn has none that is sure."""
        draw = self.rng.random()
        if draw < 0.4:
            return check_of_machine(self.rng.choice(self.notes), self.rng)
        if draw < 0.75:
            return check_of_note(self._dialogue(), self.rng)
        if draw < 0.87:
            case, slips = talk(self.rng)
        elif draw < 0.92:
            made = story(self.rng)
            case, slips = Case(id="story", output=made.summary, source=made.notes), ()
        else:
            case, slips = self._dialogue(), ()
        return check_of_source(case, self._plant(case, truth_of(case), self.anything, True, slips), self.rng)

    def _of_machine(self) -> Example:
        """A ballot on a machine's note, about what is known of it."""
        rng = self.rng
        note = rng.choice(self.right_notes if rng.random() < MACHINE_CLEAN else self.wrong_notes)
        rubric = rng.choice(self.rubrics)
        known = {"accurate"} | ({"thorough"} if note.coverage_known else set())
        asked = [name for name in rubric.names if aspect_of(rubric.by_name[name]) in known]
        if not asked:
            rubric, asked = CLINICAL, ["accurate"]
        wrong = any(fault.attribute == "accurate" for fault in note.planted.faults)
        at = Situation.of(note.case, note.planted, truth_of(note.case), rubric, all_known=not wrong)
        return ballot(at, asked, self._persona(), rng)

    def _of_one_text(self) -> Example:
        rng = self.rng
        draw, slips = rng.random(), ()
        invented = draw < STORIES
        excerpt = not invented and draw > 1 - EXCERPTS
        shortened = excerpt or (invented and rng.random() < SHORTENED)
        if invented:
            made = story(rng)
            audience = rng.choice((None, "primary care", "ward team"))
            summary = self._part_of(made.summary) if shortened else made.summary
            case = Case(id="story", output=summary, source=made.notes, audience=audience)
            truth, foreign = truth_of(case), self.told
        elif excerpt:
            case = self._excerpt()
            truth, foreign = truth_of(case), self.anything
        elif draw < STORIES + TALKS:
            case, slips = talk(rng)
            truth, foreign = truth_of(case), self.anything
        else:
            case = self._dialogue()
            if rng.random() < MORE_FACTS:
                case, slips = with_facts(case, rng)
                case = case.model_copy(update={"id": ""})
            truth = self.truths.get(case.id) or truth_of(case)
            foreign = self.foreign[case.group or ""] if rng.random() < 0.6 else self.anything
        if (
            not invented
            and not excerpt
            and not slips
            and rng.random() < RETOLD
            and (text := retold(case, truth, rng))
        ):
            planted = self._with_accuracy_faults(text, truth, foreign)
        else:
            planted = self._plant(case, truth, foreign, invented or excerpt, slips)
        rubric = rng.choice(self.rubrics)
        if shortened and (
            rubric is PDSQI or not any(aspect_of(each) == "accurate" for each in rubric.attributes)
        ):
            rubric = CLINICAL
        at = Situation.of(case, planted, truth, rubric)
        asked = ("accurate",) if shortened else KINDS
        taught = [name for name in rubric.names if aspect_of(rubric.by_name[name]) in asked]
        draw = rng.random()
        one = rng.choice(
            [n for n in taught if aspect_of(rubric.by_name[n]) in ("accurate", "thorough")] or taught
        )
        few = rng.sample(taught, min(len(taught), rng.choice((1, 1, 2))))
        few = [name for name in rubric.names if name in few]
        if draw < 0.06:
            return revision(at, one, rng)
        if draw < 0.085:
            return challenge(at, one, rng)
        if draw < 0.105:
            return ledger(at, few, rng)
        if draw < 0.125:
            return decision(at, few, rng)
        return ballot(at, self._asked(rubric, taught), self._persona(), rng)

    def _excerpt(self) -> Case:
        """Some sentences of several clinicians' notes, in other words, with the notes as the source: what is left out says nothing."""
        rng = self.rng
        cases = [varied(case, rng) for case in rng.choices(self.cases, self.weights, k=rng.randint(1, 4))]
        return Case(
            id="excerpt",
            output=" ".join(reworded(self._part_of(case.output), rng) for case in cases),
            source=tuple(case.output for case in cases),
        )

    def _part_of(self, text: str) -> str:
        """The text with some of its sentences left out, and one at the least kept."""
        sentences = [passage.text for passage in passages(text)]
        kept = self.rng.choice((0.3, 0.5, 0.8))
        return " ".join([s for s in sentences if self.rng.random() < kept] or sentences[:1]) or text

    def _dialogue(self) -> Case:
        """A note with its dialogue, for the most part as a case that nobody has seen before."""
        rng = self.rng
        case = rng.choices(self.cases, self.weights)[0]
        if rng.random() > VARIED:
            return case
        case = varied(case, rng).model_copy(update={"id": ""})
        other = varied(rng.choice(self.cases), rng)
        short = len(case.source[0]) + len(other.source[0]) < 1800
        if short and rng.random() < TWO_CASES:
            sources = (*case.source, *other.source)
            return case.model_copy(update={"output": f"{case.output} {other.output}", "source": sources})
        return case

    def _with_accuracy_faults(self, text: PlantedText, truth: Truth, foreign: list[str]) -> PlantedText:
        """A retold text with, half of the time, one fault of accuracy."""
        kind = self.rng.choice(ACCURACY)
        more = (
            plant(text.output, truth, [kind], self.rng, foreign=foreign) if self.rng.random() < 0.5 else None
        )
        return PlantedText(output=more.output, faults=(*text.faults, *more.faults)) if more else text

    def _asked(self, rubric: Rubric, taught: list[str]) -> list[str]:
        if rubric is PDSQI:
            count = self.rng.choice((2, 3, 9))
            chosen = list(rubric.names) if count == 9 else self.rng.sample([*taught, *UNTAUGHT], count)
        elif self.rng.random() < 0.5:
            chosen = list(taught)
        else:
            chosen = self.rng.sample(taught, self.rng.randint(1, len(taught)))
        return [name for name in rubric.names if name in chosen]

    def _persona(self) -> str | None:
        return self.rng.choice(
            (None, "high-scoring", "low-scoring", "middle-scoring", "plain-judge", *PERSONAS)
        )

    def _plant(
        self, case: Case, truth: Truth, foreign: list[str], invented: bool, slips: tuple[Slip, ...] = ()
    ) -> PlantedText:
        rng = self.rng
        if not invented and not slips and rng.random() < 0.02:
            return self._another_text(case)
        kinds: list[str] = []
        if rng.random() > CLEAN:
            for aspect, chance in CHANCES.items():
                if rng.random() < chance:
                    kinds += [rng.choice(ACCURACY) if aspect == "accurate" else KIND_OF[aspect]]
                    if rng.random() < 0.25 and aspect in ("accurate", "thorough"):
                        kinds += [rng.choice(ACCURACY) if aspect == "accurate" else "omission"]
        if not invented and "omission" in kinds and rng.random() < 0.25 and len(case.output.split()) > 8:
            return self._cut_short(case)
        slip = bool(slips) and any(kind in ACCURACY for kind in kinds) and rng.random() < SLIPS
        if slip:
            kinds = [kind for kind in kinds if kind not in ACCURACY]
        planted = PlantedText(output=case.output)
        for kind in kinds:
            more = plant(case.output, truth, [f.kind for f in planted.faults] + [kind], rng, foreign=foreign)
            planted = more or planted
        if slip:
            planted = slipped(planted, "\n".join(case.source), slips, rng) or planted
        return planted

    def _cut_short(self, case: Case) -> PlantedText:
        """Systems stop in mid-sentence; so does this text."""
        words = list(re.finditer(r"\S+", case.output))
        place = words[self.rng.randint(4, len(words) - 3)].end()
        left = case.output[:place]
        fault = Fault(
            kind="omission",
            attribute="thorough",
            points=points_for(case.output, left),
            start=place,
            end=place,
            before=case.output[place:],
            after="",
        )
        return PlantedText(output=left, faults=(fault,))

    def _another_text(self, case: Case) -> PlantedText:
        """A text about somebody else."""
        other = self.rng.choice(
            [c for c in self.rng.sample(self.cases, 20) if c.id != case.id and len(c.output) > 20] or [case]
        )
        if other is case:
            return PlantedText(output=case.output)
        text = other.output
        wrong = Fault(
            kind="fabrication", attribute="accurate", points=4, start=0, end=len(text), before="", after=text
        )
        gone = Fault(
            kind="omission", attribute="thorough", points=4, start=0, end=0, before=case.output, after=""
        )
        return PlantedText(output=text, faults=(wrong, gone))


def packed(examples: list[dict[str, Any]]) -> bytes:
    """The examples with every line of text kept once, and the code of each in one place."""
    table: dict[str, int] = {}
    rows = []
    for row in examples:
        found = _CODE.search(row["user"])
        code = found.group(1) if found else ""
        user = row["user"].replace(code, "\0") if code else row["user"]
        lines = [table.setdefault(line, len(table)) for line in user.split("\n")]
        system = table.setdefault(row["system"], len(table))
        rows.append((row["kind"], system, lines, code, row["answer"], row["marks"]))
    return gzip.compress(pickle.dumps((list(table), rows)), 6)


_shared: dict[str, Any] = {}
"""What every process of a pool works from."""


def _start(cases: list[Case], notes: list[MachineNote]) -> None:
    _shared.update(cases=cases, notes=notes)


def _made(job: tuple[int, int]) -> list[dict[str, Any]]:
    seed, count = job
    maker = Maker(_shared["cases"], seed, _shared["notes"])
    return [example.row() for example in maker.examples(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("notes", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--half", type=int, choices=(0, 1), help="only every other dialogue, for jurors differently taught"
    )
    parser.add_argument("--machine-notes", type=Path, help="what `summarise.py` wrote")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    cases = [
        case
        for number, case in enumerate(mts_cases(options.notes))
        if number % HELD_OUT and options.half in (None, number % 2)
    ]
    share = 2000
    jobs = [
        (options.seed * 1000 + number, min(share, options.count - number * share))
        for number in range(-(-options.count // share))
    ]
    notes = machine_notes(options.machine_notes, cases) if options.machine_notes else []
    with Pool(options.processes, _start, (cases, notes)) as pool:
        rows = [row for part in pool.imap(_made, jobs) for row in part]
    options.out.write_bytes(packed(rows))
    counts: Mapping[str, int] = Counter(row["kind"] for row in rows)
    print(json.dumps({"examples": len(rows), "kinds": counts, "bytes": options.out.stat().st_size}))


if __name__ == "__main__":
    main()
