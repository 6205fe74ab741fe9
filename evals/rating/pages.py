"""The pages: a case with its form, and the coordinator's overview. Every word of a case, a juror or a rater is escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...agents.desk import Answers, DeskTask, TaskSheet, asked_now
from ...rubrics.ballot import QUOTES_LIMIT
from ...rubrics.case import Exhibit
from ...rubrics.rubric import Attribute, Rubric
from ...rubrics.scale import NOT_APPLICABLE, Value, value_words
from ..report.markup import Child, Html, document, element, fragment

_WORDS = {
    "rationale": "Note",
    "moved_by": "What moved you",
    "confidence": "How sure are you?",
    "dispute": "What is disputed",
    "question": "Which question could settle the dispute?",
    "to": "Who should answer",
    "weighed": "Whose ballots you weighed",
    "finding": "Does the jury agree?",
    "answering": "Whose argument the others should answer",
}
_KEYS = (
    ("1 - 9", "answer the highlighted question"),
    ("x", "answer that the question does not apply"),
    ("j  k", "go to the next or the previous question"),
    ("n", "write a note"),
    ("e", "use the words that you selected in a text as evidence"),
    ("Enter", "go to the next case, if every question is answered"),
    ("←  →", "go to the previous or the next case"),
)


class PersonProgress(NamedTuple):
    """How far a person has come."""

    person: str
    done: int
    total: int


def desk_page(title: str, body: Mapping[str, object], *children: Child) -> str:
    """A whole page; `body` holds what the script reads off it."""
    head = element(
        "head",
        None,
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", None, f"{title} · venire"),
        element("link", {"rel": "icon", "href": "./static/mark.svg", "type": "image/svg+xml"}),
        element("link", {"rel": "stylesheet", "href": "./static/rating.css"}),
        element("script", {"src": "./static/rating.js", "defer": True}),
    )
    return document(head, element("body", body, *children))


def task_page(
    task: DeskTask, sheet: TaskSheet, rubric: Rubric, answers: Answers, progress: PersonProgress, token: str
) -> str:
    """One case: its texts beside its questions."""
    asked = asked_now(rubric, sheet.asked, answers)
    sitting = bool(sheet.seat)
    state = {
        "data-task": task.id,
        "data-token": token,
        "data-place": task.place,
        "data-sent": sitting and task.done_at is not None,
        "data-quotes": QUOTES_LIMIT,
    }
    return desk_page(
        f"Case {task.place + 1}",
        state,
        element("a", {"class": "skip", "href": "#questions"}, "Skip to the questions"),
        _bar(progress, f"Case {task.place + 1} of {progress.total}"),
        element(
            "main",
            {"class": "pair" if rubric.compares else None},
            element(
                "section",
                {"class": "texts", "aria-label": "Texts", "tabindex": "0"},
                element("h1", None, _heading(sheet)),
                [element("p", {"class": "known", "dir": "auto"}, note) for note in sheet.notes],
                element("div", {"class": "exhibits"}, [_text(e.name, e.text) for e in _judged_first(sheet)]),
            ),
            element(
                "section",
                {"class": "questions", "id": "questions", "aria-label": "Questions", "tabindex": "-1"},
                _others(sheet, rubric),
                [
                    _question(number, rubric.by_name[name], rubric, sheet, answers, name in asked)
                    for number, name in enumerate(sheet.asked, 1)
                ],
                _end(task, progress, sitting),
            ),
        ),
        _help(),
    )


def done_page(progress: PersonProgress, *, sitting: bool) -> str:
    """What a person finds who has nothing left to do."""
    if sitting:
        words = "There is no ballot for you now. When the jury asks you again, the ballot appears here."
    elif progress.total:
        words = f"All {progress.total} cases are rated. Thank you. You can still change any of them."
    else:
        words = "No case is assigned to you."
    return desk_page(
        "Done",
        {"data-reload": sitting},
        _bar(progress, ""),
        element(
            "main",
            {"class": "done"},
            element("h1", None, "Done"),
            element("p", None, words),
            element("p", None, element("a", {"class": "button", "href": "./?at=1"}, "Look at the first case"))
            if progress.total
            else None,
        ),
    )


class Attention(NamedTuple):
    """A case on which raters differ, and what each gave."""

    case: str
    attribute: str
    values: str


def coordinator_page(
    people: Sequence[tuple[PersonProgress, str, str]],
    agreement: Sequence[tuple[str, str, str]] | None,
    apart: Sequence[Attention],
) -> str:
    """PersonProgress by rater, agreement so far, and the cases where raters differ most."""
    done, total = sum(each[0].done for each in people), sum(each[0].total for each in people)
    return desk_page(
        "Progress",
        {"data-reload": True},
        _bar(PersonProgress("coordinator", done, total), ""),
        element(
            "main",
            {"class": "coordinator", "id": "main"},
            element("h1", None, f"{done:,} of {total:,} ballots are complete"),
            _table(
                "Raters",
                ("Rater", "Done", "Of", "Median time per case", "Last seen"),
                [(p.person, f"{p.done:,}", f"{p.total:,}", pace, seen) for p, pace, seen in people],
            ),
            element("p", {"class": "quiet"}, "Agreement is being computed and will appear here in a moment.")
            if agreement is None
            else _table("Agreement so far", ("Question", "Agreement", "Measure"), agreement),
            _table("Where raters differ most", ("Case", "Question", "Given"), apart) if apart else None,
        ),
    )


def refusal_page(status: int, words: str) -> str:
    """A page that asks for nothing more: whoever is refused has no style sheet either."""
    head = element("head", None, element("meta", {"charset": "utf-8"}), element("title", None, str(status)))
    return document(head, element("body", None, element("main", None, element("h1", None, words))))


def _bar(progress: PersonProgress, place: str) -> Html:
    return element(
        "header",
        {"class": "bar"},
        element("span", {"class": "brand"}, "venire"),
        element("span", {"class": "who", "dir": "auto"}, progress.person),
        element("span", {"class": "place"}, place),
        element(
            "progress",
            {"max": max(1, progress.total), "value": progress.done, "aria-label": "Cases done"},
        ),
        element("span", {"class": "count"}, f"{progress.done:,} of {progress.total:,} done"),
        element("span", {"class": "saved", "role": "status"}),
        element(
            "button",
            {"type": "button", "class": "help", "aria-expanded": "false", "aria-controls": "help"},
            "Keys",
        ),
    )


def _heading(sheet: TaskSheet) -> str:
    if not sheet.seat:
        return "Read, then rate"
    if sheet.kind != "ballot":
        return f"You preside: round {sheet.round}"
    return (
        "Your vote: read the case, then vote"
        if not sheet.heard and not sheet.own
        else f"Round {sheet.round}: the other jurors have answered"
    )


def _judged_first(sheet: TaskSheet) -> list[Exhibit]:
    """The texts with what is judged before what it is judged by: it is what a reader comes for."""
    return sorted(sheet.exhibits, key=lambda exhibit: not exhibit.name.startswith("output"))


def _text(name: str, words: str) -> Html:
    return element(
        "article",
        {"class": "text output" if name.startswith("output") else "text", "aria-label": name},
        element("h2", None, "The text to judge" if name == "output" else name[0].upper() + name[1:]),
        element("div", {"class": "words", "dir": "auto", "data-exhibit": name}, words or "(empty)"),
    )


def _others(sheet: TaskSheet, rubric: Rubric) -> Html | None:
    """What the others said, by question, and what she said herself."""
    if not sheet.heard and not sheet.own:
        return None
    groups = []
    for name in sheet.asked:
        votes = [("You", vote) for vote in sheet.own if vote.attribute == name]
        votes += [(each.label, each.vote) for each in sheet.heard if each.vote.attribute == name]
        if votes:
            rows = [
                element(
                    "li",
                    None,
                    element("b", None, label, " "),
                    element("span", {"class": "given"}, value_words(vote.value, pair=rubric.compares)),
                    element("p", {"dir": "auto"}, vote.rationale),
                    [element("q", {"dir": "auto"}, quote.text) for quote in vote.evidence],
                )
                for label, vote in votes
            ]
            groups.append(fragment(element("h3", None, name.replace("_", " ")), element("ul", None, rows)))
    return element(
        "details", {"class": "others", "open": True}, element("summary", None, "What has been said"), groups
    )


def _question(
    number: int, attribute: Attribute, rubric: Rubric, sheet: TaskSheet, answers: Answers, shown: bool
) -> Html:
    name, parts = attribute.name, sheet.parts[attribute.name]
    form = answers.get(name, {})
    own = next((vote for vote in sheet.own if vote.attribute == name), None)
    state = {
        "class": "question",
        "id": f"q-{name}",
        "data-attribute": name,
        "data-asked-if": json.dumps(attribute.asked_if) if attribute.asked_if else None,
        "data-own": json.dumps(own.value) if own else None,
        "data-own-reason": own.rationale if own else None,
        "hidden": not shown,
    }
    extras = [part for part in parts if part not in ("score", "rationale", "evidence")]
    return element(
        "fieldset",
        state,
        element("legend", None, element("span", {"class": "number"}, f"{number}"), attribute.question),
        _scores(name, rubric, parts["score"], form.get("score")) if "score" in parts else None,
        [_extra(name, part, parts[part], form.get(part), sitting=bool(sheet.seat)) for part in extras],
        _note(name, form, parts, sitting=bool(sheet.seat)),
    )


def _scores(name: str, rubric: Rubric, schema: Mapping[str, Any], score: Value | None) -> Html:
    scale = rubric.scale_of(name)
    if not scale.anchors:
        low, high = scale.ends
        label = f"A number from {low:g} to {high:g}"
        number = element(
            "label",
            {"class": "number-in"},
            label,
            element(
                "input",
                {
                    "type": "number",
                    "min": low,
                    "max": high,
                    "step": "any",
                    "data-part": "score",
                    "value": score if score != NOT_APPLICABLE else None,
                },
            ),
        )
        options: list[Html] = [number]
    else:
        digits = all(isinstance(value, int) and 0 <= value <= 9 for value in scale.values)
        options = [
            _choice(
                name,
                value,
                words,
                score,
                key=str(value) if digits else str(place) if place < 10 else "",
                show=not rubric.compares,
            )
            for place, (value, words) in enumerate(scale.anchors.items(), 1)
        ]
    if rubric.by_name[name].optional:
        options.append(_choice(name, NOT_APPLICABLE, "Does not apply", score, key="x", show=False))
    return element("div", {"class": "choices"}, options)


def _choice(name: str, value: Value, words: str, score: Value | None, *, key: str, show: bool) -> Html:
    return element(
        "label",
        {"class": "choice"},
        element(
            "input",
            {
                "type": "radio",
                "name": name,
                "data-part": "score",
                "value": json.dumps(value),
                "data-key": key,
                "checked": score == value,
            },
        ),
        element("kbd", {"aria-hidden": "true"}, key) if key and not (show and key == str(value)) else None,
        element("span", {"class": "value"}, value) if show else None,
        element("span", {"class": "anchor", "dir": "auto"}, words if words != str(value) else ""),
    )


def _extra(name: str, part: str, schema: Mapping[str, Any], value: Any, *, sitting: bool) -> Html:
    """A field that only a seat's form has."""
    label = _WORDS.get(part, part.replace("_", " "))
    values = _enumerated_values(schema.get("items", schema))
    if schema.get("type") == "array":
        boxes = [
            element(
                "label",
                {"class": "box"},
                element(
                    "input",
                    {
                        "type": "checkbox",
                        "data-part": part,
                        "value": json.dumps(each),
                        "checked": each in (value or ()),
                    },
                ),
                each,
            )
            for each in values
        ]
        return element(
            "div", {"class": "extra", "role": "group", "aria-label": label}, element("b", None, label), boxes
        )
    if values:
        options = [
            element("option", {"value": json.dumps(each), "selected": each == value}, each or "no one")
            for each in values
        ]
        blank = element("option", {"value": "null", "selected": value is None}, "choose")
        return element(
            "label", {"class": "extra"}, label, element("select", {"data-part": part}, blank, options)
        )
    hidden = part == "moved_by" and not value
    return element(
        "label",
        {"class": f"extra {part}", "hidden": hidden},
        label,
        element("textarea", {"data-part": part, "rows": "2", "dir": "auto"}, value or ""),
    )


def _enumerated_values(schema: Mapping[str, Any]) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _note(name: str, form: Mapping[str, Any], parts: Mapping[str, Any], *, sitting: bool) -> Html | None:
    if "rationale" not in parts:
        return None
    label = "Your reason, which the other jurors will read" if sitting else "Note"
    note = element(
        "label",
        None,
        label,
        element(
            "textarea", {"data-part": "rationale", "rows": "2", "dir": "auto"}, form.get("rationale", "")
        ),
    )
    evidence = [
        element("ul", {"class": "quotes", "data-quotes": json.dumps(form.get("evidence", []))}),
        element(
            "label",
            None,
            "Evidence: select words in a text, or type them here and press Enter",
            element("input", {"type": "text", "class": "quote-in", "autocomplete": "off", "dir": "auto"}),
        ),
    ]
    inside = fragment(note, evidence if "evidence" in parts else None)
    if sitting:
        return element("div", {"class": "note"}, inside)
    opened = bool(form.get("rationale") or form.get("evidence"))
    return element(
        "details", {"class": "note", "open": opened}, element("summary", None, "Note and evidence"), inside
    )


def _end(task: DeskTask, progress: PersonProgress, sitting: bool) -> Html:
    back = (
        element("a", {"class": "button back", "href": f"./?at={task.place}"}, "Previous")
        if task.place
        else element("span", {"class": "back"})
    )
    if sitting:
        sent = task.done_at is not None
        forward = element(
            "button",
            {"type": "button", "class": "button send", "disabled": sent},
            "Sent" if sent else "Send my vote",
        )
    else:
        forward = element("a", {"class": "button next", "href": f"./?after={task.place + 1}"}, "Next case")
    return element(
        "nav",
        {"class": "way", "aria-label": "Cases"},
        back,
        element("span", {"class": "left", "role": "status"}),
        forward,
    )


def _help() -> Html:
    rows = [
        (element("dt", None, element("kbd", None, keys)), element("dd", None, does)) for keys, does in _KEYS
    ]
    return element("section", {"id": "help", "hidden": True, "aria-label": "Keys"}, element("dl", None, rows))


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Html:
    head = element("tr", None, [element("th", {"scope": "col"}, column) for column in columns])
    body = [
        element(
            "tr",
            None,
            element("th", {"scope": "row", "dir": "auto"}, row[0]),
            [element("td", {"dir": "auto"}, cell) for cell in row[1:]],
        )
        for row in rows
    ]
    table = element("table", None, element("thead", None, head), element("tbody", None, body))
    return fragment(
        element("h2", None, title),
        element("div", {"class": "wide", "tabindex": "0", "role": "region", "aria-label": title}, table),
    )
