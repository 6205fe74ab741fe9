"""Training examples from people's ratings: for supervised fine-tuning a ballot a reviewer, for preferences a pair a case."""

from __future__ import annotations

import json
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from ...agents.clients.local import CONTEXT
from ...agents.gateway import ModelGateway, Prompt
from ...agents.juror import Juror
from ...agents.model import Message, Subject
from ...agents.orchestrator import Orchestrator
from ...agents.prompting import brief
from ...agents.tokens import window
from ...orchestration.record.private_files import write_atomically
from ...personas.jury import ModelSettings, Seat
from ...personas.persona import Persona, load_persona
from ...rubrics.case import Case, load_cases
from ...rubrics.errors import VenireError
from ...rubrics.ratings import Rating, read_ratings
from ...rubrics.rubric import Rubric, load_rubric
from ...rubrics.scale import Value
from .settings import TrainFile


class CapturedPrompt(NamedTuple):
    """The messages of one call, and the shape that its answer must have."""

    messages: tuple[Message, ...]
    shape: type[BaseModel]


class PromptTooLong(ValueError):
    """The seat would not have asked: its model cannot read the case."""


class _Captured(Exception):
    def __init__(self, prompt: CapturedPrompt) -> None:
        super().__init__("captured")
        self.prompt = prompt


class _CapturingGateway:
    """Stands where a model would be asked, and hands back the question instead."""

    reads_prompts = True

    def __init__(self, settings: ModelSettings) -> None:
        self.window = window(settings, CONTEXT)

    def answers_for(self, subject: Subject) -> tuple[str, ...]:
        return subject.asked

    async def fill(self, prompt: Prompt, shape: type[BaseModel], **options: Any) -> Any:
        raise _Captured(CapturedPrompt(prompt.messages, shape))


def juror_prompt(
    name: str,
    persona: Persona | None,
    ask: Callable[[Juror], Awaitable[Any]],
    settings: ModelSettings | None = None,
) -> CapturedPrompt:
    """What the seat `name` would be sent when `ask` calls one of its methods (`cast`, `revise`, `challenge` ...)."""
    return _captured_from(ask(Juror(name, persona, _gateway(settings))))


def orchestrator_prompt(
    seats: tuple[Seat, ...],
    ask: Callable[[Orchestrator], Awaitable[Any]],
    settings: ModelSettings | None = None,
) -> CapturedPrompt:
    """What the orchestrator of `seats` would be sent when `ask` calls one of its methods (`name_disputes`, `decide` ...)."""
    return _captured_from(ask(Orchestrator(_gateway(settings), seats)))


def _gateway(settings: ModelSettings | None) -> ModelGateway:
    return cast(ModelGateway, _CapturingGateway(settings or ModelSettings()))


def _captured_from(asking: Awaitable[Any]) -> CapturedPrompt:
    """Run the call up to its prompt. Nothing on that way waits, so no event loop is needed."""
    try:
        cast(Coroutine[Any, Any, Any], asking).send(None)
    except _Captured as captured:
        return captured.prompt
    except StopIteration:
        raise PromptTooLong("the prompt does not fit into the model's context") from None
    raise AssertionError("a call that waits before it asks")


NO_REASON = "The reviewer gave no reason."
"""The reason in a ballot whose reviewer wrote none: none is made up."""

Scores = Mapping[str, Value]


@dataclass
class Examples:
    """The rows of a training set, and what became of the ratings that are not in it."""

    sft: list[dict[str, Any]] = field(default_factory=list)
    """One row a reviewer and case, before up-sampling."""
    upsampled: list[dict[str, Any]] = field(default_factory=list)
    """The same with every reviewer's rows repeated, in an order left to the seed, until all have as many."""
    preferences: list[dict[str, Any]] = field(default_factory=list)
    """One pair a case: the reviewers' median against every attribute one level more lenient."""
    dropped: Counter[str] = field(default_factory=Counter)
    """What was left out, by why."""

    def summary(self) -> dict[str, Any]:
        reviewers = Counter(row["reviewer"] for row in self.sft)
        upsampled = Counter(row["reviewer"] for row in self.upsampled)
        return {
            "sft": len(self.sft),
            "sft_upsampled": len(self.upsampled),
            "dpo": len(self.preferences),
            "reviewers": {
                name: {"rows": count, "upsampled": upsampled[name]} for name, count in reviewers.items()
            },
            "dropped": dict(self.dropped),
        }


def examples_from(file: TrainFile) -> Examples:
    """The examples that a training file asks for; the same file and seed give the same rows."""
    rubric = load_rubric(file.rubric)
    examples = Examples()
    by_case = _ballots(read_ratings(file.ratings), rubric, examples.dropped)
    cases = {case.id: case for case in load_cases(file.cases)}
    examples.dropped["ratings of unknown cases"] += sum(
        len(by_case[name]) for name in by_case if name not in cases
    )
    for name, case in cases.items():
        ballots = {
            reviewer: (_under_labels(case, scores), reasons)
            for reviewer, (scores, reasons) in by_case.get(name, {}).items()
        }
        if not ballots:
            continue
        try:
            prompt = _messages(case, rubric, file)
        except PromptTooLong:
            examples.dropped["prompts too long"] += 1
            continue
        for reviewer, (scores, reasons) in ballots.items():
            answer = _answer(rubric, scores, reasons)
            examples.sft.append({"messages": [*prompt, answer], "case": name, "reviewer": reviewer})
        if rubric.compares:
            # A preference is no kinder for being one level higher: to reject those would teach to prefer output A.
            examples.dropped["pairs of ballots that compare two outputs"] += 1
            continue
        median = _median_scores(rubric, [scores for scores, _ in ballots.values()])
        rejected = more_lenient(rubric, median)
        if median == rejected:
            examples.dropped["pairs that came out equal"] += 1
            continue
        pair = {"chosen": [_answer(rubric, median, {})], "rejected": [_answer(rubric, rejected, {})]}
        examples.preferences.append({"prompt": prompt, **pair, "case": name})
    if not examples.sft:
        raise VenireError(
            f"no reviewer in {file.ratings.name} rated every attribute of a case in {file.cases.name}",
            remedy=f"rate {', '.join(rubric.names)}, or name the rubric that was rated",
        )
    examples.upsampled = _with_equal_counts(examples.sft, random.Random(file.seed))
    examples.dropped = +examples.dropped
    return examples


def more_lenient(rubric: Rubric, scores: Scores) -> dict[str, Value]:
    """Every score one level better: up, or down where lower is better; the other one of two; the best stays the best."""
    lenient: dict[str, Value] = {}
    for name, value in scores.items():
        scale = rubric.scale_of(name)
        step = -1 if rubric.by_name[name].better == "low" else 1
        if not scale.anchors:
            low, high = (float(end) for end in scale.ends)
            lenient[name] = min(high, max(low, float(value) + step))
            continue
        levels = list(scale.values)
        if len(levels) == 2:
            lenient[name] = levels[1 - levels.index(value)]
        else:
            lenient[name] = levels[min(len(levels) - 1, max(0, levels.index(value) + step))]
    return lenient


def write_examples(examples: Examples, folder: Path) -> None:
    """`sft.jsonl`, `sft-upsampled.jsonl`, `dpo.jsonl` and `summary.json`, in the chat form that trainers read."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (
        ("sft", examples.sft),
        ("sft-upsampled", examples.upsampled),
        ("dpo", examples.preferences),
    ):
        write_atomically(
            folder / f"{name}.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        )
    write_atomically(
        folder / "summary.json", json.dumps(examples.summary(), indent=2, ensure_ascii=False) + "\n"
    )


def _ballots(
    ratings: Iterable[Rating], rubric: Rubric, dropped: Counter[str]
) -> dict[str, dict[str, tuple[Scores, dict[str, str]]]]:
    """Each reviewer's whole ballots, by case and reviewer; the last round counts, and what is not whole is counted."""
    latest: dict[tuple[str, str, str], Rating] = {}
    for rating in ratings:
        if rating.attribute not in rubric.by_name:
            dropped["ratings of other attributes"] += 1
        elif rating.value is None:
            dropped["blank ratings"] += 1
        else:
            key = (rating.case, rating.rater, rating.attribute)
            if key not in latest or (rating.round or 0) >= (latest[key].round or 0):
                latest[key] = rating
    votes_by_ballot: dict[tuple[str, str], dict[str, Rating]] = defaultdict(dict)
    for (case, rater, attribute), rating in latest.items():
        votes_by_ballot[case, rater][attribute] = rating
    ballots: dict[str, dict[str, tuple[Scores, dict[str, str]]]] = defaultdict(dict)
    for (case, rater), votes in votes_by_ballot.items():
        scores = {name: _legal(rubric, name, votes[name].value) for name in rubric.names if name in votes}
        if any(value is None for value in scores.values()):
            dropped["ballots with a value off the scale"] += 1
        elif len(scores) < len(rubric.names):
            dropped["ballots that are not whole"] += 1
        else:
            given_scores = {name: value for name, value in scores.items() if value is not None}
            ballots[case][rater] = (
                given_scores,
                {name: text for name, rating in votes.items() if (text := rating.rationale)},
            )
    return ballots


def _legal(rubric: Rubric, attribute: str, value: float | str | None) -> Value | None:
    """The value as the scale has it; None off the scale."""
    scale = rubric.scale_of(attribute)
    if not scale.anchors:
        low, high = scale.ends
        return value if isinstance(value, float) and float(low) <= value <= float(high) else None
    return next((level for level in scale.values if level == value or str(level) == value), None)


def _under_labels(case: Case, scores: Scores) -> dict[str, Value]:
    """The scores of a pair, which reviewers gave between the row's outputs, between output A and output B of the prompt."""
    return {
        name: score if isinstance(score, str) else case.under_labels(score) for name, score in scores.items()
    }


def _median_scores(rubric: Rubric, ballots: Sequence[Scores]) -> dict[str, Value]:
    """The middle score of each attribute, the lower of two in the middle; on a scale without order the commonest, first seen first."""
    scores: dict[str, Value] = {}
    for name in rubric.names:
        votes = [ballot[name] for ballot in ballots]
        if rubric.scale_of(name).ordered:
            scores[name] = statistics.median_low(votes)  # type: ignore[type-var]
        else:
            scores[name] = Counter(votes).most_common(1)[0][0]
    return scores


def _messages(case: Case, rubric: Rubric, file: TrainFile) -> list[dict[str, str]]:
    persona = load_persona(file.persona) if file.persona else None
    case_brief = brief(case, rubric)
    captured = juror_prompt(
        "judge",
        persona,
        lambda juror: juror.cast(case_brief, rubric.names),
        ModelSettings(context=file.context),
    )
    return [{"role": message.role, "content": message.content} for message in captured.messages]


def _answer(rubric: Rubric, scores: Scores, reasons: Mapping[str, str]) -> dict[str, str]:
    """A ballot as the model is to write it."""
    ballot: dict[str, dict[str, Any]] = {
        name: {"rationale": reasons.get(name, NO_REASON), "evidence": [], "score": scores[name]}
        for name in rubric.names
    }
    return {"role": "assistant", "content": json.dumps(ballot, ensure_ascii=False)}


def _with_equal_counts(rows: Sequence[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    by_reviewer: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_reviewer[row["reviewer"]].append(row)
    most = max(map(len, by_reviewer.values()))
    upsampled = [row for own in by_reviewer.values() for row in [*own, *rng.choices(own, k=most - len(own))]]
    rng.shuffle(upsampled)
    return upsampled
