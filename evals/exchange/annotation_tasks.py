"""What an annotator is asked, with the jury's and other people's answers; and how clicked words and comments are read back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from ...orchestration.reading.export import ExportedRun
from ...orchestration.verdict import Verdict, as_written
from ...rubrics.case import Case
from ...rubrics.conversation import conversation_text
from ...rubrics.errors import VenireError
from ...rubrics.ratings import Rating
from ...rubrics.rubric import Attribute
from ...rubrics.scale import NOT_APPLICABLE, Scale, Value

TEXTS = ("question", "audience", "source", "reference", "output")
"""The texts that an annotator may read, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Answers:
    """One jury's, juror's or person's answers about a case. An attribute without an answer is not in it."""

    by: str
    values: Mapping[str, Value]
    rationales: Mapping[str, str] = field(default_factory=dict)
    support: float | None = None
    """The share of votes that agree with a jury's values, over its attributes."""


@dataclass(slots=True)
class AnnotationTask:
    """A case for annotators, with everything that was said of it."""

    case: Case
    texts: Mapping[str, str]
    """What an annotator may read: the reference only where the rubric shows it to jurors."""
    juries: list[Answers] = field(default_factory=list)
    jurors: list[Answers] = field(default_factory=list)
    people: list[Answers] = field(default_factory=list)
    reasons: tuple[str, ...] = ()
    """Why the case was picked."""


def annotation_tasks(run: ExportedRun) -> list[AnnotationTask]:
    """A task for each case of the run, in its order, with every arm's answers and people's to the same questions.

    Raises:
        VenireError: The run was made with `--redact`, so that there is nothing to read.
    """
    if run.store.redacted:
        raise VenireError(
            f"{run.store.name} was made with --redact, so it has no texts for an annotator to read",
            remedy="run the cases without --redact, or make the tasks from your own cases file",
        )
    shows_reference = any(arm.rubric.reference == "shown" for arm in run.arms())
    by_case: dict[str, list[Rating]] = {}
    names = {attribute.name for attribute, _ in asked_questions(run)}
    for rating in run.ratings:
        if rating.attribute in names:
            by_case.setdefault(rating.case, []).append(rating)
    tasks: dict[str, AnnotationTask] = {}
    for verdict in run.verdicts():
        task = tasks.get(verdict.case)
        if task is None:
            case = run.store.case(verdict.case)
            assert case is not None, "a case that was heard is kept"
            task = AnnotationTask(
                case,
                _texts(case, shown_reference=shows_reference),
                people=_people(by_case.get(case.id, [])),
                reasons=tuple((run.picked or {}).get(case.id, ())),
            )
            tasks[case.id] = task
        # What people answer is between the row's outputs, which their sheets show.
        verdict = as_written(verdict, task.case)
        task.juries.append(_verdict_answers(verdict))
        task.jurors += _juror_answers(verdict)
    return list(tasks.values())


def asked_questions(run: ExportedRun) -> Iterator[tuple[Attribute, Scale]]:
    """Every attribute that the run's juries were asked about, with its scale; the first arm's where they differ."""
    names = set()
    for arm in run.arms():
        for attribute in arm.rubric.attributes:
            if attribute.name not in names:
                names.add(attribute.name)
                yield attribute, arm.rubric.scale_of(attribute.name)


def _texts(case: Case, *, shown_reference: bool) -> dict[str, str]:
    before = [conversation_text(case.messages)] if case.messages and not case.is_conversation else []
    texts = {
        "question": case.question or "",
        "audience": case.audience or "",
        "source": "\n\n".join((*case.source, *before)),
        "output": case.output if case.output_b is None else _both_outputs(case),
    }
    if shown_reference:
        texts["reference"] = case.reference or ""
    return {name: texts[name] for name in TEXTS if name in texts}


def _both_outputs(case: Case) -> str:
    """A pair as people read it: under the names of the row's columns."""
    row = case.as_row()
    return f"Output A:\n{row['output_a']}\n\nOutput B:\n{row['output_b']}"


def _verdict_answers(verdict: Verdict) -> Answers:
    reached = {
        name: outcome.value
        for name, outcome in verdict.outcomes.items()
        if outcome.status == "reached" and outcome.value is not None
    }
    support = [verdict.outcomes[name].support for name in reached]
    shares = [share for share in support if share is not None]
    whys = {name: verdict.outcomes[name].why for name in reached if verdict.outcomes[name].why}
    return Answers(verdict.arm, reached, whys, sum(shares) / len(shares) if shares else None)


def _juror_answers(verdict: Verdict) -> list[Answers]:
    """Each juror's last votes."""
    values: dict[str, dict[str, Value]] = {}
    rationales: dict[str, dict[str, str]] = {}
    for attribute, votes in verdict.transcript.standing().items():
        for juror, ballot in votes.items():
            values.setdefault(juror, {})[attribute] = ballot.vote.value
            if ballot.vote.rationale:
                rationales.setdefault(juror, {})[attribute] = ballot.vote.rationale
    return [
        Answers(f"{verdict.arm}/{juror}", marks, rationales.get(juror, {})) for juror, marks in values.items()
    ]


def _people(ratings: list[Rating]) -> list[Answers]:
    """A person's ratings of one round together, the earlier rounds first."""
    answers_by_key: dict[tuple[str, int], Answers] = {}
    for rating in sorted(ratings, key=lambda r: r.round or 0):
        if rating.value is not None:
            key = (rating.rater, rating.round or 0)
            answers = answers_by_key.setdefault(key, Answers(rating.rater, {}, {}))
            answers_by_key[key] = Answers(
                answers.by,
                {**answers.values, rating.attribute: rating.value},
                {**answers.rationales, **({rating.attribute: rating.rationale} if rating.rationale else {})},
            )
    return list(answers_by_key.values())


_ENDINGS = ("rationale", "reason", "comment", "comments", "explanation", "why", "justification")
_ALONE = (*_ENDINGS, "notes", "note", "feedback")


def rationale_name(attribute: str) -> str:
    """The name of the text in which venire's exports ask for an attribute's rationale."""
    return f"{attribute}_rationale"


def rationale_of(attribute: str, comments: Mapping[str, str], attributes: Collection[str]) -> str | None:
    """The comment on one rating: the one named for its attribute, or those that are named for none of `attributes`."""
    own_texts = [text for name, text in comments.items() if _subject(name, attributes) == attribute]
    shared_texts = [text for name, text in comments.items() if _subject(name, attributes) is None]
    return "\n".join(own_texts or shared_texts) or None


def is_comment_name(name: str) -> bool:
    """Whether a question is named as one that asks for words, such as `accurate_rationale` or `comments`."""
    ending = name.casefold().replace("-", "_").rpartition("_")[2]
    return ending in _ENDINGS or name.casefold() in _ALONE


def _subject(name: str, attributes: Collection[str]) -> str | None:
    """The attribute that a comment is named for: `accurate_rationale` is of `accurate`."""
    start, _, ending = name.replace("-", "_").rpartition("_")
    by_plain = {attribute.replace("-", "_"): attribute for attribute in attributes}
    return by_plain.get(start) if ending.casefold() in _ENDINGS else None


_INAPPLICABLE = {NOT_APPLICABLE, "not applicable", "n/a", "na", "does not apply"}
_NUMBERED = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*(?:[:.)=–-]\s*|\()(.*?)\)?\s*", re.DOTALL)
"""`4: Mostly`, `4 - Mostly`, `4 (Mostly)`."""


def scale_value(said: Value, scale: Scale, attribute: Attribute) -> Value:
    """`said` as a value of the scale, where it is one of its values or of its anchors' words; otherwise as it was said."""
    if not isinstance(said, str):
        return said
    plain = _plain(said)
    if attribute.optional and plain in _INAPPLICABLE:
        return NOT_APPLICABLE
    legal = {_plain(_value_text(value)): value for value in scale.values}
    if plain in legal:
        return legal[plain]
    anchored = [value for value, words in scale.anchors.items() if _plain(words) == plain]
    if len(anchored) == 1:
        return anchored[0]
    numbered = _NUMBERED.fullmatch(said)
    if numbered and _plain(scale.anchors.get(legal.get(numbered[1], ""), "")) == _plain(numbered[2]) != "":
        return legal[numbered[1]]
    return said


def value_label(value: Value, words: str) -> str:
    """A value as a person reads it beside the others: `4: Mostly`."""
    text = _value_text(value)
    return text if words.strip() in ("", text) else f"{text}: {words}"


def _value_text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(words: str) -> str:
    return " ".join(words.casefold().split())
