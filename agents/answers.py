"""Reading a model's answer: the one JSON object that it is, or what is wrong with it.

Also what is legal in an answer of which some attribute is not, and refusals in words. Every answer is read here, whoever gave it and by whichever client it came. Reading takes time in proportion to the
answer's length, whatever stands in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from ..rubrics.ballot import AbstainedAttribute
from .instructions import fold_tight
from .model import CachedText, Message, ModelFailure

_START = 300
"""The characters at the beginning of an answer in which a refusal is looked for."""
_CANNOT = (
    r"(?:can(?:'|’)?t|cannot|can not|won(?:'|’)?t|will not|am unable|am not able|must decline|decline|refuse)"
)
_ELSEWHERE = (
    r"(?:es )?tut mir leid|ich (?:kann|werde|darf)(?: \w+){0,3} nicht"
    r"|je suis désolée?|désolée?,|je ne (?:peux|vais|puis) pas"
    r"|lo siento|no (?:puedo|voy a)|很?抱歉|对不起|我(?:不能|无法|不会)"
)
_REFUSAL = re.compile(
    rf"\W*+(?:i(?:'|’)?m (?:very |so )?sorry|sorry,|i am sorry|i {_CANNOT}"
    rf"|(?:as an ai\b.*?)?i(?:'|’)?m (?:unable|not able)|{_ELSEWHERE})",
    re.IGNORECASE,
)
_DEED = (
    r"(?:follow|comply|obey|help|assist|judge|evaluate|assess|rate|score|grade|answer|respond|provide|give|do|continue"
    r"|complete|participate|engage|fulfil|act|process|review|vote|cast|fill)"
)
_REFUSED_DEED = re.compile(
    rf"\b(?:i {_CANNOT}|i(?:'|’)?m (?:unable|not able))(?: to)?(?: \w+)? {_DEED}\b|^\W*(?:{_ELSEWHERE})",
    re.IGNORECASE,
)
"""A refusal that names what it will not do: with braces behind it, "I cannot find a fault" may open a ballot."""
_FIRST_SENTENCE = re.compile(r"[^.\n{]*")


def refuses(text: str) -> bool:
    """Whether the answer is a refusal in words, which it may be with JSON in it: quoted, or given all the same."""
    start = text.lstrip()[:_START]
    if "{" not in text:
        return _REFUSAL.match(start) is not None
    sentence = _FIRST_SENTENCE.match(start)
    return sentence is not None and _REFUSED_DEED.search(sentence.group()) is not None


Shape = TypeVar("Shape", bound=BaseModel)

QUOTED = "the JSON object stands in what the jury was shown: a quotation is no answer"
BESIDE = "words stand beside the JSON object; answer with the object alone"
_SHORT = 8_000
"""Answers up to this length are not asked how many values they hold."""
_VALUES = 2_000
"""The JSON values in an answer at the most: many times what any form has."""
_SCORE_ERRORS = {"literal_error", "greater_than_equal", "less_than_equal", "value_error"}

_LONGEST_WORDS = 400
"""Characters that a lead-in or a sign-off has at the most."""
_THINKING = (
    r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflections?|scratch_?pad|analysis|cot|deliberation|antthinking"
    r"|(?:inner_|internal_)?(?:monologue|thoughts?)|chain_of_thought)"
)
_THINKING_TAG = re.compile(
    rf"(?:<\|?|\[|\u25c1|<\uff5c)(?P<closes>/|end_of_|end_)?(?:\w{{1,12}}:)?(?:begin_of_|start_of_|begin_|start_)?{_THINKING}"
    r"(?:_(?:start|begin|(?P<ends>end)))?(?:\|?>|\]|\u25b7|\uff5c>)",
    re.IGNORECASE,
)
"""Where a model's thinking begins or ends, in the spellings of the model families that show it."""
_FINAL_CHANNEL = "<|channel|>final<|message|>"

_KIND = (
    r"(?:json|ballots?|answers?|responses?|reply|verdicts?|decisions?|evaluations?|assessments?|judge?ments?|scores?|scoring"
    r"|ratings?|votes?|output|results?|ledger|review|opinion|claims|checks)"
)
_TEXT = (
    r"(?:the|this|your|each)(?: (?:given|provided|clinical|patient|medical))?"
    r" (?:notes?|summary|text|case|document|transcript|attributes?|rubric|questions?|claims?|answer|output|source)"
)
_READ = (
    r"(?:the|my|this|your|a|an|careful|carefully|thorough|thoroughly|rubric|source|sources|notes?|text|summary|case|transcript|output|review"
    r"|reading|reviewing|consideration|considering|evaluating|assessing|comparing|looking|at|analysing|analyzing|evidence|criteria|provided|given"
    r"|it|and|of|in|against|with|each|attribute|all|both|read|reviewed|considered|weighed|evaluated|assessed|compared|to|as|twice|now"
    r"|everything|jurors|votes|ballots|arguments|reasons|discussion|deliberation|panel|step|by)"
)
_JUDGE = r"(?:judge|score|rate|evaluate|assess|review|vote|decide|grade|mark)"
_LEAD_IN = re.compile(
    # A word of politeness, what was read, and what follows: words that can announce an answer, and none that can take it back,
    # lay it to somebody else, or make it depend on anything. Whoever leads in with others is asked once for the object alone.
    r"(?:(?:sure(?: thing)?|certainly|of course|ok(?:ay)?|yes|absolutely|understood|thank you(?: for the case)?|thanks|alright|great|hello|hi|assistant)(?:\W+|$))*"
    r"(?:as an? (?:ward |clinical |senior |strict )?(?:juror|judge|nurse|physician|doctor|clinician|reviewer|evaluator), )?"
    r"(?:(?:as requested|per the rubric|in accordance with the instructions)(?:\W+|$))?"
    rf"(?:(?:i have|i've|based on|after|having|considering|looking at|evaluating|reviewing|comparing|let me {_JUDGE})(?: {_READ}){{1,16}}(?:\W+|$))?"
    rf"(?:(?:here(?:'s| is| are)|below (?:is|are)|this is|these are|please find|i (?:give|submit|cast|return|provide)(?: this$)?|i (?:arrive at|reach))\s+|here you go$|i {_JUDGE} as follows$|i submit this$)?"
    r"(?:(?:my|the|a|your|these|requested|required|final|completed|filled-in|following|complete|full|valid|overall|single|structured|honest|own|detailed|juror's) )*"
    rf"(?:{_KIND}(?: (?:{_KIND}|object|format|complete))?(?:(?: for| on|(?<=evaluation) of|(?<=assessment) of|(?<=review) of) {_TEXT})?"
    r"(?:,? (?:as|in) (?:(?:valid )?json(?: format)?|the required form)| \(json\))?"
    r"(?:[,;]? (?:is|are|follows|below|as follows|with my scores|based on the rubric|as a juror)){0,2}|form)?"
    r"|hier (?:ist|sind|is) (?:mein|meine|die|das|mijn|de) (?:antwort|bewertung|bewertungen|stimmzettel|urteil|beoordeling|antwoord|oordeel)"
    r"|(?:meine?|mijn) (?:antwort|bewertung|stimme|stimmzettel|urteil|beoordeling|antwoord)"
    r"|(?:voici )?(?:mon|ma|mes|la|le) (?:évaluation|réponse|bulletin|notes?|verdict|vote)"
    r"|(?:(?:aquí|aqui) (?:está|esta|tienes?) )?(?:a )?(?:mi|la|el|minha|meu) (?:evaluación|evaluacion|respuesta|voto|veredicto|avaliação|resposta)"
    r"|(?:ecco )?(?:la mia|il mio) (?:valutazione|risposta|voto|verdetto|scheda)|(?:oto )?moja (?:ocena|odpowiedź)|вот мо[йяи] (?:оценк[аи]|ответ|бюллетень)"
    r"|(?:以下|这)是?我?的?(?:评分|评估|回答|答案|评审结果)|(?:私の)?(?:評価|回答|採点)(?:結果)?は(?:以下|次)の(?:通り|とおり)です|제 평가는 다음과 같습니다|(?:إليك )?تقييمي",
    re.IGNORECASE,
)
_SIGN_OFF = re.compile(
    r"(?:(?:(?:i )?hope (?:this|it|that) helps|thank you(?: (?:very much|for reading))?|thanks|merci|danke|gracias|grazie|obrigado|谢谢|ありがとうございます|(?:best |kind )?regards|cheers|sincerely|done|end|juror"
    r"|end of (?:my )?(?:ballot|answer|json|response|evaluation)|this is my final (?:answer|ballot|verdict)"
    r"|my (?:final )?(?:ballot|answer|verdict) is (?:given )?above"
    r"|that (?:is|concludes) my (?:final )?(?:ballot|answer|verdict|vote|evaluation|assessment)"
    r"|(?:(?:please )?(?:let me know|feel free to ask) (?:if|for)(?: (?:you|there))?|is there)(?: (?:you|need|have|is|are|require|any|anything|further|more|additional"
    r"|other|else|questions?|clarifications?|details?|help|assistance|information))+"
    r")\W*){0,3}",
    re.IGNORECASE,
)
_WRAPPING = re.compile(
    r"</?(?:answer|json|output|ballot|response|result|final)>|```+\w*|~~~+\w*|[*#`]+|^\s*-{3,}|-{3,}\s*$|</?s>|<\|\w{1,30}\|>|<(?:end_of_turn|eos)>",
    re.IGNORECASE,
)
"""What may stand around an answer and says nothing: code fences, emphasis, a tag that names it, a model's own end marks."""
_FENCE = re.compile(r"[\s\ufeff]*+(?:(?:```++|~~~++)(?:json)?\s*+)?", re.IGNORECASE)
"""Before or after an object and nothing besides: white space, and a code fence."""


class UnusableAnswer(Exception):
    """An answer that cannot be used."""

    def __init__(self, failure: ModelFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def read_answer(text: str, shape: type[Shape], asked: Sequence[Message]) -> Shape:
    """The answer that `text` is: one JSON object, in a code fence or not, a model's thinking taken out.

    Before it may stand a short lead-in, after it a sign-off; any other words may take it back, and are as bad as none. So are
    two objects that differ: nobody can say which was meant. An object that stands in what was `asked`, the case and other
    jurors' words included, is a quotation and no answer. A refusal is one, whatever it quotes.

    Raises:
        UnusableAnswer: It is something else; says what.
    """
    if len(text) > _SHORT and _value_count(text) > _VALUES:
        raise _unparsable(f"the answer holds more than {_VALUES} values")
    if (found := _whole_object(text)) is None:
        words = without_thinking(text)
        if refuses(words):
            raise UnusableAnswer(ModelFailure("refused", words.strip()[:300]))
        found = _first_object(words, text)
    try:
        answer = shape.model_validate_json(found.source)
    except ValidationError as misfit:
        raise UnusableAnswer(_describe(misfit, text)) from None
    if _stands_in(found, asked):
        raise _unparsable(f"{QUOTED}; give an answer of your own")
    if not found.stands_alone:
        raise _unparsable(BESIDE)
    return answer


def without_thinking(text: str) -> str:
    """`text` without what stands between a thinking tag and the one that closes it; either may be missing at its end of the text."""
    _, channel, final = text.rpartition(_FINAL_CHANNEL)
    text = final if channel else text
    kept: list[str] = []
    at, opened = 0, False
    for count, tag in enumerate(_THINKING_TAG.finditer(text)):
        if tag["closes"] or tag["ends"]:
            if opened or count == 0:
                at, opened = tag.end(), False
        elif not opened:
            kept.append(text[at : tag.start()])
            opened = True
    return "".join(kept if opened else (*kept, text[at:]))


class _Object(NamedTuple):
    """A JSON object in an answer."""

    source: str
    value: dict[str, Any]
    end: int
    stands_alone: bool = True
    """Whether no words stand around it that could take it back."""


def _first_object(words: str, text: str) -> _Object:
    """The object at the first brace, and whether what stands before and after it leaves it an answer."""
    start = words.find("{")
    try:
        if start == -1:
            raise ValueError
        found = _object_at(words, start)
    except ValueError:
        raise UnusableAnswer(_describe(None, text)) from None
    rest = words[found.end :]
    while (again := rest.find("{")) != -1:
        try:
            other = _object_at(rest, again)
        except ValueError:
            break
        if other.value != found.value:
            raise _unparsable("more than one JSON object fits; give exactly one")
        rest = rest[:again] + rest[other.end :]
    alone = _says_nothing(words[:start], _LEAD_IN) and _says_nothing(rest, _SIGN_OFF)
    return found._replace(stands_alone=alone)


def _says_nothing(words: str, polite: re.Pattern[str]) -> bool:
    """Whether words beside an object are only the polite ones."""
    if len(words) > _LONGEST_WORDS:
        return False
    plain = " ".join(_WRAPPING.sub(" ", words).replace("\u2019", "'").replace("\ufeff", "").split())
    return polite.fullmatch(plain.strip(" .:!,\u3002\uff1a")) is not None


def _object_at(text: str, start: int) -> _Object:
    """The JSON object that begins at `start`; `ValueError` where none does."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise _unparsable("the answer is nested too deeply") from None
    return _Object(text[start:end], value, end)


def _whole_object(text: str) -> _Object | None:
    """The object that the text is, in a code fence or not, and nothing besides; None where it is something else."""
    if (opening := _FENCE.match(text)) is None or not text.startswith("{", opening.end()):
        return None
    try:
        found = _object_at(text, opening.end())
    except ValueError:
        return None
    return found if _FENCE.fullmatch(text, found.end) else None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise _unparsable(f"the key {twice[:60]!r} appears more than once in one object")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)


def _value_count(text: str) -> int:
    """The JSON values in a text, or a few more."""
    outside_strings = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    bare = "".join(outside_strings)
    return bare.count(",") + bare.count("{") + bare.count("[")


def _stands_in(found: _Object, asked: Sequence[Message]) -> bool:
    """Whether the object, or an object that is part of it, stands in what was asked, however it is spaced or escaped."""
    shown = [
        part
        for message in asked
        if message.role != "assistant"
        for part in (message.opening, message.body)
        # What is not ours stands between markers; a form of ours is no ballot.
        if "[[" in part and ("{" in part or "\uff5b" in part)
    ]
    if not shown:
        return False
    folded = [_fold_shown(text) for text in shown]
    parts = [part for part in found.value.values() if isinstance(part, dict)] or [found.value]
    whole = fold_tight(found.source)
    if any(whole in text for text in folded):
        return True
    for part in parts:
        # What an object says at most length stands there if the object does, and is cheaper to look for.
        said = fold_tight(_longest_words(part))
        likely = [text for text in folded if said in text]
        if likely:
            spelling = fold_tight(json.dumps(part, ensure_ascii=False))
            if any(spelling in text for text in likely):
                return True
    return False


def _longest_words(part: dict[str, Any]) -> str:
    return max((value for value in part.values() if isinstance(value, str)), key=len, default="")


def _fold_shown(text: str) -> str:
    """`fold_tight`, once for what stands in many prompts: every seat answers to the same case."""
    return text.tight if isinstance(text, CachedText) else _fold_tight(text)


_fold_tight = lru_cache(maxsize=64)(fold_tight)


def _unparsable(problem: str) -> UnusableAnswer:
    return UnusableAnswer(ModelFailure("unparsable", problem))


def _describe(misfit: ValidationError | None, text: str) -> ModelFailure:
    details = [] if misfit is None else misfit.errors(include_url=False)
    if not details or details[0]["type"] == "json_invalid":
        start = " ".join(text[:2_000].split())[:200]
        return ModelFailure("unparsable", f"no JSON object of the required form; the answer began: {start!r}")
    said = "; ".join(f"{'.'.join(map(str, d['loc']))[:200]}: {d['msg']}{_input_note(d)}" for d in details[:6])
    if all("score" in d["loc"] and d["type"] in _SCORE_ERRORS for d in details):
        return ModelFailure("out_of_scale", said)
    return ModelFailure("unparsable", said)


def _input_note(detail: Any) -> str:
    value = detail.get("input")
    if isinstance(value, int) and value.bit_length() > 200:
        return ""
    return (
        f" (given {value!r})"
        if isinstance(value, int | float | bool) or (isinstance(value, str) and len(value) < 60)
        else ""
    )


def legal_attributes(
    fields: Mapping[str, Any],
    shapes: Mapping[str, type[BaseModel]],
    shown: Sequence[Message],
    check: Callable[[BaseModel], str | None] | None = None,
) -> tuple[list[BaseModel], tuple[AbstainedAttribute, ...]]:
    """The attributes of an illegal answer that are legal taken alone, each as its own shape, and those that are not."""
    legal: list[BaseModel] = []
    abstained: list[AbstainedAttribute] = []
    for attribute, shape in shapes.items():
        given = {attribute: fields[attribute]} if attribute in fields else {}
        try:
            part = read_answer(json.dumps(given), shape, shown)
        except UnusableAnswer as misread:
            failure = misread.failure
            abstained.append(
                AbstainedAttribute(attribute=attribute, reason=failure.reason, detail=failure.detail)
            )
            continue
        if check is not None and (problem := check(part)):
            abstained.append(AbstainedAttribute(attribute=attribute, reason="unparsable", detail=problem))
        else:
            legal.append(part)
    return legal, tuple(abstained)
