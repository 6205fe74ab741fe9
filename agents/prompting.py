"""Prompt text: the templates in `prompts/`, and the fences that keep judged text from speaking to the jury.

The brief puts a case under its rubric before every seat; statements are what a seat is shown of the others' votes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources.abc import Traversable
from itertools import zip_longest
from pathlib import Path
from string import Template
from typing import Any, Literal

from pydantic import BaseModel

from ..rubrics.ballot import Vote, inline
from ..rubrics.case import Case, Exhibit, Label, coin
from ..rubrics.errors import WORD_JOINER
from ..rubrics.rubric import Rubric
from ..rubrics.scale import NOT_APPLICABLE, Value
from .instructions import attempts_to_instruct
from .model import CachedText, Context, Message, Subject
from .tokens import estimated_tokens

_HTML = (
    "a|abbr|address|article|aside|b|bdi|bdo|blockquote|body|br|button|caption|center|cite|code|col|colgroup|data|dd|del|details"
    "|dfn|div|dl|dt|em|fieldset|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|ins|kbd|label|legend|li|main|mark"
    "|math|menu|nav|ol|p|q|samp|script|section|select|small|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td"
    "|option|optgroup|picture|progress|ruby|rt|template|textarea|tfoot|th|thead|time|title|tr|tt|u|ul|var|(?-i:pre)"
)
_HEADERS = (
    "algorithm|any|array|atomic|bitset|chrono|complex|deque|exception|filesystem|format|fstream|functional|future|iomanip|ios|iostream|iterator|limits|list|map"
    "|memory|mutex|numeric|optional|ostream|queue|random|ranges|ratio|regex|set|span|sstream|stack|stdexcept|string|string_view|thread|tuple|type_traits"
    "|unordered_map|unordered_set|utility|valarray|variant|vector|c(?:assert|ctype|errno|float|limits|math|signal|stdarg|stddef|stdint|stdio|stdlib|string|time)"
)
_TYPES = (
    "int|str|string|float|double|bool|boolean|char|byte|number|object|any|void|auto|long|short|unknown|never|size_t|u?int\\d{1,2}_t|[iuf]\\d{1,3}"
    "|usize|isize|(?-i:[TUVKEN])"
)
_MARKERS = re.compile(
    # What ordinary text has between such brackets is passed over: HTML, C++'s own header files, types with their parameter.
    rf"(?P<ordinary><(?=/?[a-z])/?(?:{_HTML})/?>|\binclude <(?:{_HEADERS})>|\b(?-i:(?:[A-Z]\w*|[a-z]+_\w+|vector)<(?:[A-Z][a-z]+)+>)(?!\w)|(?<=[\w:])<(?:{_TYPES})>(?!\w))"
    # Our own markers.
    r"|[\[\uff3b\u3010\u27e6](?=[^\w\]]{0,40}+(?:exhibit|words)\b)"
    # A model's own, by their shape: a name between brackets with a bar or another sign, ...
    r"|<(?=/?[|\uff5c]\S|\w{1,60}[|\uff5c]>)|\[(?=/?[|\uff5c]\w[\w ]*[|\uff5c]\])|[<\[](?=([@#%&])\w{1,60}\2[>\]])|\u25c1(?=[/|]?\w)|\|(?=\|\|\w{1,60}\|{3})"
    # ... between angle brackets, one or two; ...
    r"|<(?=/?(?!\w+::)[\w\u2581][\w:=\u2581-]{0,60}>)|<(?=\[\w{1,60}\]>)|<(?=</?\w{1,60}>>)|>(?=>(?-i:[A-Z_]{1,60})<<)"
    # ... between square ones in capitals, closing, or ending in a number; with an underscore, unless it is an index; ...
    r"|\[(?=(?-i:[a-z]?[A-Z][A-Z_]{2,}\d*)\]|/[\w-]{1,60}\]|[a-z]{4,60}_?\d{1,9}\])|(?<![\w)\]])\[(?=[a-z]{2,60}_\w{1,60}\])"
    # ... or between brackets turned round.
    r"|\](?=~|![a-z]~\[|<\])|(?<=[\[!][a-z])~(?=\[)|>(?=\[<?\])",
    re.IGNORECASE,
)
"""What could pass for one of our markers, or for a special token of a model."""


class Prompts:
    """The .md templates of one folder: venire's own, or those that a protocol brings.

    The folder is a path, or a resource of a package: `importlib.resources.files("PACKAGE") / "prompts"`.
    """

    def __init__(self, folder: Traversable, otherwise: Prompts | None = None) -> None:
        self.folder = folder
        self._otherwise = otherwise
        """Where the prompts are that the folder has none of its own for."""
        self._templates: dict[str, Template] = {}

    def words(self, name: str, /, **parts: object) -> str:
        """The prompt `name` with its parts in place; a part that is missing is an error."""
        if name not in self._templates:
            if self._otherwise is not None and f"{name}.md" not in self.names:
                return self._otherwise.words(name, **parts)
            text = (self.folder / f"{name}.md").read_text(encoding="utf-8")
            self._templates[name] = Template(text.rstrip("\n"))
        return self._templates[name].substitute({key: str(part) for key, part in parts.items()})

    @cached_property
    def names(self) -> list[str]:
        """The files of the folder that are prompts, in order."""
        files = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted(file.name for file in files if file.name.endswith(".md"))

    @cached_property
    def hash(self) -> str:
        """One hash of every prompt, for the manifest."""
        digest = hashlib.sha256()
        for name in self.names:
            digest.update(name.encode() + b"\0" + (self.folder / name).read_bytes() + b"\0")
        return digest.hexdigest()[:16]


PROMPTS = Prompts(Path(__file__).parent / "prompts")
"""venire's own."""
PAIR_PROMPTS = Prompts(Path(__file__).parent / "prompts" / "pairs", PROMPTS)
"""What is said otherwise where two outputs are compared."""


def words(name: str, /, **parts: object) -> str:
    """venire's prompt `name` with its parts in place."""
    return PROMPTS.words(name, **parts)


@lru_cache(maxsize=512)
def same_words(prompts: Prompts, name: str, /, **parts: str) -> str:
    """A prompt of `prompts`, made once for parts that come again with every case."""
    return prompts.words(name, **parts)


def nonce(texts: Iterable[str]) -> str:
    """A code that no text among `texts` can contain on purpose: it is made from all of them.

    It does not change from call to call, so that providers can reuse the prefix it stands in.
    """
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:16]


def fence(kind: str, name: str, text: str, code: str) -> str:
    """`text` between markers it cannot forge, any marker inside it broken and their code taken out."""
    return f'[[{kind} "{name}" begins {code}]]\n{neutralise(text, code)}\n[[{kind} "{name}" ends {code}]]'


def neutralise(text: str, code: str) -> str:
    """`text` with an invisible character in everything that could pass for a marker, and without the code of ours.

    A case cannot contain the code, which is made from it; a model that has read a prompt can repeat it.
    """
    if "[" in text or "<" in text or "]" in text or "|||" in text or not text.isascii():
        text = _MARKERS.sub(lambda found: found.group() + ("" if found["ordinary"] else WORD_JOINER), text)
    return re.sub(re.escape(code), "(code)", text, flags=re.IGNORECASE) if code in text.lower() else text


@lru_cache(maxsize=64)
def rubric_text(rubric: Rubric) -> str:
    """Every attribute with its question and levels."""
    parts: list[str] = []
    for attribute in rubric.attributes:
        scale = rubric.scale_of(attribute.name)
        levels = [f"- {value}: {meaning}" for value, meaning in scale.anchors.items()]
        if not levels:
            levels = [f"- any number from {scale.ends[0]:g} to {scale.ends[1]:g}"]
        if attribute.asked_if:
            where = " and ".join(f"{name} is {value}" for name, value in attribute.asked_if.items())
            levels.append(f"- {NOT_APPLICABLE}: wherever it is not the case that {where}")
        elif attribute.may_not_apply:
            levels.append(f"- {NOT_APPLICABLE}: the question does not arise for this case")
        parts.append("\n".join([f"## {attribute.name}", attribute.question, *levels]))
    return "\n\n".join(parts)


@lru_cache(maxsize=512)
def form_of(shape: type[BaseModel]) -> str:
    """A shape as a form to fill in: one line for each of its fields."""
    lines = [f"  {json.dumps(name)}: {_sketch(part)}" for name, part in inline(shape)["properties"].items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def _sketch(node: dict[str, Any]) -> str:
    if "enum" in node:
        return " | ".join(json.dumps(value) for value in node["enum"])
    if "const" in node:
        return json.dumps(node["const"])
    if "anyOf" in node:
        return " | ".join(_sketch(choice) for choice in node["anyOf"])
    match node.get("type"):
        case "object":
            return (
                "{" + ", ".join(f"{json.dumps(k)}: {_sketch(v)}" for k, v in node["properties"].items()) + "}"
            )
        case "array":
            return f"[{_sketch(node['items'])}, ...]"
        case "string":
            return '"..."'
        case "boolean":
            return "true | false"
        case _:
            low, high = node.get("minimum"), node.get("maximum")
            return (
                f"<number from {low:g} to {high:g}>" if low is not None and high is not None else "<number>"
            )


def repair_request(answer: str, problem: str, code: str) -> tuple[Message, Message]:
    """The model's own answer and what is wrong with it, which may repeat the answer: both fenced."""
    shown = answer if len(answer) <= 6000 else answer[:6000] + " [cut]"
    return (
        Message("assistant", fence("words", "answer", shown or "(nothing)", code)),
        Message("user", words("repair", problem=fence("words", "problem", problem, code))),
    )


@dataclass(frozen=True, slots=True)
class Brief:
    """The rubric and the case in words, the same for every seat and round, so that it opens every prompt."""

    case: str
    rubric: Rubric
    exhibits: tuple[Exhibit, ...]
    nonce: str
    text: CachedText
    flags: tuple[str, ...]
    """Passages in which the case seems to instruct the jury."""
    turned: CachedText | None = None
    """Of a pair: the same with output B before output A."""

    @property
    def prompts(self) -> Prompts:
        """The words for one output, or for a pair."""
        return prompts_for(self.rubric)

    def first(self, place: int | None) -> Label | None:
        """Which output of a pair is shown first: from seat to seat in turns, whoever presides (no place) by lot."""
        if self.turned is None:
            return None
        if place is None:
            return "B" if coin(self.case, "presiding") else "A"
        return "AB"[(place + coin(self.case, "seats")) % 2]  # type: ignore[return-value]

    def text_with(self, first: Label | None) -> CachedText:
        """The text with this output of a pair before the other."""
        return self.turned if first == "B" and self.turned is not None else self.text

    def subject(
        self,
        seat: str,
        asked: tuple[str, ...],
        *,
        round: int,
        kind: Literal["ballot", "ledger", "decision"] = "ballot",
        context: Context = Context(),  # noqa: B008
    ) -> Subject:
        return Subject(self.case, seat, self.rubric, self.exhibits, asked, round, kind, context=context)


def prompts_for(rubric: Rubric) -> Prompts:
    """The prompts under which a rubric is asked."""
    return PAIR_PROMPTS if rubric.compares else PROMPTS


def brief(case: Case, rubric: Rubric) -> Brief:
    rubric.refuse_other_kind(case)
    exhibits = rubric.exhibits(case)
    code = nonce(exhibit.text for exhibit in exhibits)

    def text(shown: Sequence[Exhibit]) -> CachedText:
        told = prompts_for(rubric).words(
            "brief",
            rubric=rubric.name,
            description=rubric.description,
            attributes=rubric_text(rubric),
            nonce=code,
            exhibits="\n\n".join(
                fence("exhibit", e.name, e.text, code) + ("" if e.text.strip() else f"\n({e.name} is empty.)")
                for e in shown
            ),
        )
        return CachedText(f"{told}\n\n")

    return Brief(
        case=case.id,
        rubric=rubric,
        exhibits=exhibits,
        nonce=code,
        text=text(exhibits),
        flags=attempts_to_instruct(exhibits),
        turned=text((*exhibits[:-2], exhibits[-1], exhibits[-2])) if rubric.compares else None,
    )


@dataclass(frozen=True, slots=True)
class Statement:
    """A vote as others hear it: under a label that the protocol chooses, which may hide who spoke."""

    entry: str
    """The id of the transcript entry it comes from."""
    label: str
    vote: Vote


def fit_statements(
    room: int | None,
    tail: Callable[[str], str],
    statements: Sequence[Statement],
    attributes: Sequence[str],
    nonce: str,
) -> str:
    """`tail` with the statements in it: whole if they fit into `room` tokens, else shortened.

    Jurors hear standing votes only, so earlier rounds are already left out. If that is too long, the votes on
    each attribute are counted by value and reasons are taken in turns from every value, those with a quote
    that stands in an exhibit first and short ones before long ones, for as long as they fit. The prompt says
    how many reasons were left out of it. Where not even the counts fit, what comes back is longer than `room`.
    """
    whole = tail(statements_text(statements, attributes, nonce))
    if room is None or estimated_tokens(whole) <= room:
        return whole
    return tail(_shortened_text(statements, attributes, nonce, room - estimated_tokens(tail(""))))


def statements_text(statements: Sequence[Statement], attributes: Iterable[str], nonce: str) -> str:
    """The statements by attribute, each between markers, quotes that stand in no exhibit marked so."""
    parts: list[str] = []
    for attribute in attributes:
        spoken = [s for s in statements if s.vote.attribute == attribute]
        if spoken:
            parts.append(f"## {attribute}\n" + "\n".join(_statement(s, nonce) for s in spoken))
    return "\n\n".join(parts) or "(nothing has been said)"


def votes_text(votes: Iterable[Vote], nonce: str) -> str:
    """A seat's own votes, one a line, between markers: its reasons may repeat what the case told it to say."""
    lines = "\n".join(f"- {vote.attribute}: {vote.value}. {vote.rationale}" for vote in votes)
    return fence("words", "your own", lines, nonce) if lines else "- none"


def _statement(statement: Statement, nonce: str) -> str:
    vote = statement.vote
    lines = [vote.rationale]
    for quote in vote.evidence:
        lines.append(f'quotes ({quote.exhibit or "these words stand in no exhibit"}): "{quote.text}"')
    if vote.moved_by:
        lines.append(f"moved by: {vote.moved_by}")
    return f"{statement.label} gave {vote.value}:\n" + fence(
        "words", statement.label, "\n".join(lines), nonce
    )


def _shortened_text(statements: Sequence[Statement], attributes: Sequence[str], nonce: str, room: int) -> str:
    groups = _by_value(statements, attributes)
    left = room - estimated_tokens(_summary_text(groups, {}))
    chosen: dict[int, str] = {}
    # Taken in turns, so that no attribute and no side is left without a reason while another has two.
    for turn in zip_longest(*(group for sides in groups.values() for group in sides.values())):
        for statement in filter(None, turn):
            text = _statement(statement, nonce)
            if (size := estimated_tokens(text + "\n")) <= left:
                chosen[id(statement)] = text
                left -= size
    return _summary_text(groups, chosen)


def _by_value(
    statements: Sequence[Statement], attributes: Sequence[str]
) -> dict[str, dict[Value, list[Statement]]]:
    """Each attribute's statements by value, the best reasons first."""
    groups: dict[str, dict[Value, list[Statement]]] = {}
    for attribute in attributes:
        for statement in statements:
            if statement.vote.attribute == attribute:
                groups.setdefault(attribute, {}).setdefault(statement.vote.value, []).append(statement)
    for sides in groups.values():
        for group in sides.values():
            group.sort(key=lambda s: (not any(q.found for q in s.vote.evidence), len(s.vote.rationale)))
    return groups


def _summary_text(groups: dict[str, dict[Value, list[Statement]]], chosen: dict[int, str]) -> str:
    parts = [words("condensed")]
    for attribute, sides in groups.items():
        lines = [f"## {attribute}"]
        for value, group in sides.items():
            shown = [chosen[id(statement)] for statement in group if id(statement) in chosen]
            missing = len(group) - len(shown)
            lines.append(
                f"{len(group)} gave {value}" + (f"; {missing} of their reasons left out." if missing else ".")
            )
            lines += shown
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
