"""Instructions in a judged text: passages that speak to the jury, in whatever disguise. A flag changes no score.

A text is folded first: put as a reader sees it, with disguises taken off. Then patterns are looked for in it.
"""

from __future__ import annotations

import base64
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ..rubrics.case import Exhibit

_CYRILLIC = str.maketrans("аеорсухіѕјԁһԛԝӏкмтвнг", "aeopcyxisjdhqwlkmtbhr")
_GREEK = str.maketrans("αειοκνρτυχωη", "aeiokvptuxwn")
_LETTERS = {**_CYRILLIC, **_GREEK, **str.maketrans("ıɑɡʟɪɴᴏʀ", "iaglinor")}
_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
"""Invisible characters that spell ASCII, one each."""
_SPACED = re.compile(r"(?<!\w)(?:\w[ .*_-]){5,}\w(?!\w)")
_SPACED_PART = re.compile(r"[ .*_-]\w" * 4 + "[ .*_-]")
"""Stands in whatever is spaced out, and is found faster."""
_KINDS = {code: "w" if chr(code).isalnum() else " " if chr(code) in " .*-" else "," for code in range(128)}
"""Letters, what may part them, and the rest: in a text of ASCII without `_`, which is both, the part above is then `_PART`."""
_PART = " w w w w "


def fold(text: str) -> str:
    """`text` in small letters without accents, compatibility forms, look-alike letters or invisible characters.

    Invisible characters that spell words are those words. Takes time in proportion to the text.
    """
    if "&" in text:
        text = html.unescape(text)
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.translate(_TAGS)).casefold()
    return "".join(filter(_visible, apart)).translate(_LETTERS)


def fold_spaced(text: str) -> str:
    """A folded text with words that were s p a c e d o u t closed up; empty where none were."""
    if text.isascii() and "_" not in text:
        if _PART not in text.translate(_KINDS):
            return ""
    elif _SPACED_PART.search(text) is None:
        return ""
    return "\n".join(re.sub(r"[\W_]", "", found.group()) for found in _SPACED.finditer(text))


def fold_tight(text: str) -> str:
    """`text` folded, without white space, quotation marks and escapes: two spellings of one JSON value are alike."""
    if "\\u" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text)
    folded = fold(text)
    if folded.isascii():
        return folded.translate(_LOOSE)
    folded = "".join(folded.split())
    for mark in _MARKS:
        folded = folded.replace(mark, "")
    return folded


_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_MARKS = "\\\"'`“”„‟‘’‚‛«»‹›"
_LOOSE = {code: None for code in range(128) if chr(code).isspace() or chr(code) in _MARKS}
"""What `fold_tight` drops of a text of ASCII."""


def _visible(character: str) -> bool:
    # Letters and marks are by far the most: what is ASCII needs no look into the tables.
    return character < "\x80" or unicodedata.category(character) not in ("Mn", "Me", "Cf")


_WHO = (
    r"(?:ai|llm|(?:language |ai |judge )?models?|(?:fellow |ai |llm |automated )?(?:judges?|jur(?:y|ors?)|evaluators?|graders?|reviewers?|raters?|assessors?|"
    r"scorers?|examiners?|markers?)|assistants?|chatbots?|bots?|orchestrator|moderator)"
)
_TO_WHOM = rf"\W+(?:(?:all|the|any|our|whichever|every|honou?rable|esteemed)\s+)*{_WHO}\b"
_THIS = r"(?:this|it|the|every|each|all|my|our|both|me|us|them|everything|a|an|full|top|maximum|perfect|only|attributes?)"
_TOP = (
    r"(?:full|top|perfect|maximum|highest|best|excellent|outstanding)(?: possible)?\s+(?:scores?|ratings?|grades?|marks?|points|levels?|values?)"
    r"|(?:5s|fives|tens|10s)\b|\b(\d+)(?:\.0)?\s*(?:/|out of|of)\s*\1\b|scores? of (?:5|10|100|five|ten)\b|(?:a|an|with|as) (?:5|10|100|five|ten)\b(?! ?(?:mg|ml|-|\d))"
    r"|\b(?:5|10|five|ten) (?:for|on|in|across|to) (?:every|each|all|the)\b|100\s?%|\bthe maximum\b|\bthe highest\b"
)
_VERBS = "give|award|assign|rate|score|grade|mark|rank|return|output|select|record|answer|respond|reply|vote"
CLINICAL = re.compile(
    r"pain|strength|motor|muscle|reflex|pulse|grip|discomfort|severity|apgar|scale of|flexion|extension|mg\b"
)
"""Where people are graded, and not texts."""

_FOUND = r"(?:un|not[_ -]?)?supported|not[_ -]?addressed|verified|true|correct|concordant"
_CLAIMS = (
    r"(?:all|every|each|any|this|these|those|the|both|my|our)\s+"
    r"(?:(?:of|the|these|those|my|our|single|following|above|atomic|extracted|listed|remaining|other|such)\s+){0,3}claims?"
)
VERDICT_ORDER = re.compile(
    rf"\b(?:mark|label|treat|rate|judge|classify|consider|count|call|return|report|set|declare|deem|accept|tag)\s+(?:\w+\s+){{0,2}}?{_CLAIMS}\b[^.!?;\n]{{0,40}}\b(?:{_FOUND})\b"
    rf"|\b(?:mark|label|treat|classify|declare|deem|tag)\s+claims?\b[^.!?;\n]{{0,40}}\b(?:{_FOUND})\b"
    rf"|\b{_CLAIMS}\b[^.!?;\n]{{0,20}}\bbe (?:marked|label+ed|treated|rated|judged|classified|considered|counted|declared|deemed|accepted)\b[^.!?;\n]{{0,20}}\b(?:{_FOUND})\b"
)
"""In a folded text: an order to whoever checks claims, saying what to answer."""


class Alternative(NamedTuple):
    """One of the expressions that a pattern consists of."""

    expression: str
    needs: tuple[str, ...] = ()
    """Words without one of which it matches nothing, where that is worth knowing."""


class Pattern(NamedTuple):
    """What to look for, and words without one of which it is not looked for."""

    hints: tuple[str, ...]
    alternatives: tuple[Alternative, ...]

    def find(self, folded: str, words: Set[str]) -> Iterator[re.Match[str]]:
        """Its matches in a text, of which the hints and needs that stand there are known."""
        if words.isdisjoint(self.hints):
            return iter(())
        possible = tuple(
            alternative.expression
            for alternative in self.alternatives
            if not alternative.needs or not words.isdisjoint(alternative.needs)
        )
        return _alternation(possible).finditer(folded) if possible else iter(())


@lru_cache(maxsize=512)
def _alternation(alternatives: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.MULTILINE)


def _with(needs: str, expression: str) -> Alternative:
    return Alternative(expression, tuple(needs.split("|")))


def _pattern(hints: str, *alternatives: Alternative | str) -> Pattern:
    """A pattern; hints are parted by bars."""
    each = (Alternative(given) if isinstance(given, str) else given for given in alternatives)
    return Pattern(tuple(hints.split("|")), tuple(each))


SCORE_REQUESTS: tuple[Pattern, ...] = (
    _pattern(
        "full|top |perfect|maximum|highest|best |5|10|five|fives|tens|excellent|outstanding",
        _with(_VERBS, rf"\b(?:{_VERBS})\b\s+(?:\w+\s+){{0,3}}?{_THIS}\b[^.\n]{{0,80}}?(?:{_TOP})"),
        _with(
            "deserv|merit|warrant|must|should|is to",
            r"\b(?:deserves?|merits?|warrants?|must (?:get|receive|have)|should (?:get|receive|be given)|is to (?:get|receive))\s+(?:\w+\s+){0,3}?(?:5|10|full|top|highest|perfect|maximum)\b(?=[^.\n]{0,40}(?:score|rating|grade|marks?|points|5|10|out of)|\W)",
        ),
    ),
)
PATTERNS: tuple[Pattern, ...] = (
    # Markers of chat formats, and of ours.
    _pattern(
        "<|[|###|system prompt",
        r"<\|/?[a-z_]{2,30}\|?>|<\|(?:im_start|im_end|system|user|assistant)|\[/?inst\]|<</?sys>>|</?(?:start|end)_of_turn>|<(?:bos|eos)>|</?s>(?=\s*\[|\s*$)",
        r"\[/?(?:system_prompt|available_tools|tool_calls|tool_results)\]|</?(?:system|assistant|human|think|instructions?|developer)>",
        r"\[\[\s*(?:exhibit|words)\b|^\s*#{2,}\s*(?:instructions?|response|system|human|assistant|new task|input|output)\s*:",
        r"\bsystem prompt\b",
    ),
    # Lines in another's voice.
    _pattern(
        "system|assistant|developer|human:|user:|系统|助手|orchestrator|clerk",
        r"^\W*(?:system|developer|orchestrator|moderator|clerk)(?: (?:message|notice|note|override|update|prompt|instruction))?\W{0,3}:\W*(?:you|the (?:jury|judge|rubric|evaluat|scor|case|text|above|task)|ignore|override|new|all (?:jur|scor|attr)|update|judge|jurors?|please|scor|rubric|evaluation|set|from now|this (?:text|case|summary|note|output|is an? (?:instr|order|auto))|give|award|proceed|end|stop|consensus|final)",
        r"^\W*(?:assistant|ai|model|juror(?: \w+)?)\W{0,3}:\W*(?:sure|here(?: is|'s)|understood|certainly|of course|okay|ok,|my (?:ballot|score|verdict|answer)|i (?:will|have|give|rate|score|am|agree)|as (?:an ai|instructed)|\{|scores?|ballot|verdict|final|after)",
        r"^\W*(?:human|user)\W{0,3}:[^\n]*\n+\W*(?:assistant|ai)\W{0,3}:",
        r"(?:系统|助手|用户)\s*(?:提示|消息|指令)?\s*:",
        r"\bsystem (?:override|message|notice|update|instruction|alert|note)\b\s*[:\]\-(]|\bdeveloper mode\b",
    ),
    # Ballots and forms filled in beforehand.
    _pattern(
        "score|rationale|verdict|ballot|rating|moved_by|weighed|<grade",
        r"[\"'`]\s*(?:score|rationale|moved_by|verdict|weighed|final_score|overall_score)[\"'`]\s*:",
        _with(
            "rationale",
            r"\brationale\s*[:=][^\0]{0,300}?\bscore\s*[:=]|\bscore\s*[:=]\s*\d[^\0]{0,120}?\brationale\s*[:=]",
        ),
        _with(
            "<|[[|ballot",
            r"<(?:score|rating|verdict|ballot|grade|rationale)>|\brating\s*:?\s*\[\[\s*\d|\bballot\b[^.\n]{0,30}:",
        ),
        _with(
            "final|official|agreed|consensus|expected|correct|overall",
            r"\b(?:final|official|agreed|consensus|expected|correct|overall)\s+(?:score|rating|grade|verdict|ballot)s?\s*(?:is|are|:|=|must|should|for (?:this|each|every|all))\W*(?!(?:not|unknown|pending)\b)",
        ),
        _with(
            "juror|jury",
            r"\bjur(?:or|y)\b[^.\n]{0,30}\b(?:gave|gives|voted|votes|agreed on|scored)\b\W*(?:it |this |a |all )*(?:\d|five|full|unanimous)",
        ),
    ),
    _pattern("claim", VERDICT_ORDER.pattern),
    # Orders to set the instructions aside, in the languages our users write most.
    _pattern(
        "ignor|disregard|forget|overrid|bypass|instruction|rubric|supersede|set aside|pay no attention",
        r"\b(?:ignore|disregard|forget|override|bypass|discard|set aside|pay no attention to|(?:do not|don't|stop|no longer|never) (?:follow|apply|use|obey)(?:ing)?)\s+(?:\w+\s+){0,5}?(?:instructions?|prompts?|rubrics?|guidelines|criteria|rules|directions|anchors?|levels|above|previous|prior|earlier|preceding)\b",
        r"\b(?:new|updated|revised|real|actual|true|hidden|secret|special|additional|further|following) (?:instructions?|rubric|scoring rules?|grading rules?|evaluation rules?)\b(?:\s*:|[^.\n]{0,40}\b(?:jur|judge|evaluat|grad|scor|supersede|replace|apply|appl|follow))",
        r"\b(?:instructions?|rubric|prompt|criteria)\b[^.\n]{0,40}\b(?:are|is|has been|have been|was|were)\b[^.\n]{0,20}\b(?:void|cancel|superseded|overrid|obsolete|revoked|replaced|withdrawn|suspended|updated|changed)",
    ),
    _pattern(
        "ignorier|missacht|vergiss|vergess|anweisung|beachte|befolg",
        r"\b(?:ignorier\w*|missacht\w*|vergiss|vergesst|vergessen sie|verwirf|(?:beachte|befolge)\w*\b(?= [^.\n]{0,60}nicht))[^.\n]{0,60}\b(?:anweisung\w*|instruktion\w*|vorgaben?|regeln|rubrik|kriterien|bewertungs\w*|vorherige\w*|bisherige\w*|obige\w*)",
        r"\bneue anweisung\w*\s*:",
    ),
    _pattern(
        "ignor|oubli|tenez|tiens|consigne|instruction|neglig|istruzioni|instrucoes",
        r"\b(?:ignore[zr]?|ignorons|oubliez?|oublier|ne (?:tenez|tiens) (?:pas|aucun) compte|neglige[zr]?|n'appliquez pas|ne suivez (?:pas|plus))\b[^.\n]{0,60}\b(?:instructions?|consignes?|regles?|criteres?|precedent\w*|grille|bareme|ci-dessus)",
        r"\bnouvelles? (?:instructions?|consignes?)\s*:|\bignor\w+ [^.\n]{0,40}\b(?:istruzioni|instrucoes)",
    ),
    _pattern(
        "ignor|olvid|descart|omit|caso omiso|sigas|instruccion",
        r"\b(?:ignor\w+|olvid\w+|descart\w+|omit[ae]n?|haz caso omiso de|hagan caso omiso de|no (?:sigas|siga|sigan|tengas? en cuenta|apliques?))\b[^.\n]{0,60}\b(?:instrucci\w+|indicaciones|reglas|criterios|anterior\w*|previas|rubrica|directrices)",
        r"\bnuevas? instrucci\w+\s*:",
    ),
    _pattern(
        "忽略|无视|無視|忽视|不要理会|忘记|忘記|跳过|不要遵循|不要按照|新的指令|新指令|作废",
        r"(?:忽略|无视|無視|忽视|不要理会|忘记|忘記|跳过|不要遵循|不要按照)[^。\n]{0,25}(?:指令|指示|说明|說明|要求|规则|規則|提示|标准|標準|评分|評分|以上|之前|上述|前面)",
        r"(?:指示|命令)[^。\n]{0,10}無視|新的?指令\s*:|(?:规则|标准|指令|评分)[^。\n]{0,10}作废",
    ),
    # Requests for a score in the same languages; in English see `SCORE_REQUESTS`.
    _pattern(
        "punkt|note|wertung|bewert|benote|5 von 5|10 von 10",
        r"\b(?:gib|gebt|geben sie|vergib|vergebt|vergeben sie|bewerte\w*|benote\w*|stimme?t?|erteile\w*|verdient|setze\w*|trage?\w* sie)\b[^.\n]{0,80}?(?:voll\w* punkt\w*|hochst\w*|maximal\w*|bestnote|beste\w* (?:note|bewertung)|\b(\d+) von \1\b|\b5 punkte|mit (?:einer )?(?:5|funf)\b|\beine (?:5|funf)\b|uberall (?:5|funf))",
        _with(
            "bestnote|hochstnote|punktzahl",
            r"\b(?:bestnote|hochstnote|volle punktzahl|hochste punktzahl|hochstpunktzahl)\b",
        ),
    ),
    _pattern(
        "note|score|points|maxim|5 sur 5|parfait",
        _with(
            "donne|attribue|notez|noter|accorde|mette|mets|evalue|merite",
            r"\b(?:donne[zr]?|attribue[zr]?|note[zr]|accorde[zr]?|mette[zr]|mets|evalue[zr]?|merite)\b[^.\n]{0,80}?(?:(?:notes?|scores?) (?:maximale?s?|parfaite?s?|la plus (?:haute|elevee))|meilleure note|maximum|\b(\d+) ?(?:sur|/) ?\1\b|tous les points|(?:note|score) de (?:5|10|20|cinq)|\b(?:un|le) (?:5|10|20|cinq)\b)",
        ),
        _with(
            "note maximale|meilleure note|score maximal",
            r"\b(?:note maximale|meilleure note possible|score maximal)\b",
        ),
    ),
    _pattern(
        "puntu|nota|calific|puntaje|puntos|maxim|5 de 5",
        r"\b(?:da|dale|dar|denle|deles?|otorg\w+|asign\w+|puntu[ae]\w*|califi\w+|pon(?:le|ga|gan)?|evalu[ae]\w*|merece)\b[^.\n]{0,80}?(?:(?:puntuaci\w+|nota|calificaci\w+|puntaje) (?:max\w+|perfect\w+|mas alt\w+)|max\w+ (?:puntuaci\w+|nota|calificaci\w+|puntaje)|mejor nota|\b(\d+) (?:de|sobre) \1\b|\b(?:5|10|cinco) puntos|con un (?:5|10|cinco)|\bun (?:5|10|cinco)\b)",
        r"\b(?:puntuacion maxima|maxima puntuacion|calificacion maxima|puntaje maximo|nota maxima)\b",
    ),
    _pattern(
        "满分|滿分|満点|最高分|最高评|最高評|5分|10分|五分|5 分|10 分|最高的分",
        r"(?:给|給|打|评|評|授予|输出|輸出|判|应得|值得|必须|请)[^。\n]{0,25}(?:满分|滿分|最高分|最高的?评分|最高評分|最高的分|(?:5|10|100|五|十) ?分)|满分|滿分|満点",
    ),
    # Words to whoever judges.
    _pattern(
        "dear|attention|note |notice|instruction|message|memo|hello|hey |to the |as the |as an |as a |you are|if you|you must|you should|whoever|anyone|reading this|evaluat|jury|jurors|judge",
        _with(
            "dear|attention|hello|hey|note|notice|instruction|message|memo|directive|reminder|request",
            rf"\b(?:dear|attention|hello|hey|(?:important |special |private )?(?:note|notice|instructions?|message|memo|directive|reminder|request)s? (?:to|for)){_TO_WHOM}",
        ),
        # `\b` before the literal would hide it from the search for one.
        rf"hi(?<!\whi){_TO_WHOM}",
        _with(
            "ai |llm|automated |language model|evaluator|grader|jurors",
            r"\b(?:to|for) (?:the |any |all |every )?(?:(?:ai|llm|automated) (?:judges?|jur(?:y|ors?)|evaluators?|graders?|models?|reviewers?|assistants?|systems?)|llms?\b|language models?|evaluators?\b|graders?\b|jurors\b)",
        ),
        _with(
            "you",
            rf"\bas (?:an?|the) (?:\w+ ){{0,2}}?(?:judge|juror|evaluator|grader|assessor|rater|ai)\b\W+[^.\n]{{0,40}}\b(?:you|your)\b|\byou(?:,| are| as)? (?:now |no longer |not |only )?(?:an? |the )?(?:\w+ )?{_WHO}\b(?! patient)|\byou are (?:now |no longer )(?:an? |the )\w+|\byou are (?:a|an|the) helpful",
        ),
        _with(
            "if you",
            r"\bif you (?:are|'re) (?:an? |the )?(?:ai|llm|language model|judge|juror|evaluator|grad\w+|automated|reading this (?:as|to)|evaluating|scoring|judging|assessing)",
        ),
        _with(
            "judging |grading |scoring |evaluating |assessing |rating ",
            r"\b(?:whoever|anyone|those|person|people) (?:is |who (?:is|are) )?(?:judg|grad|scor|evaluat|assess|rat)ing (?:this|the|it)\b",
        ),
        _with(
            "you",
            r"\byou(?:r)? (?:must|should|shall|have to|need to|are (?:required|instructed|ordered|asked) to|task is(?: now)? to|job is(?: now)? to|only task is to) (?:\w+ ){0,3}?(?:score|rate|grade|give (?:it|this|the (?:text|note|summary|response|highest|maximum))|award|vote|judge|rank|output|prefer|answer with|reply with|respond with|return|abstain|agree)\b",
        ),
        _with(
            "judge|juror|jury|evaluator|grader",
            r"\b(?:judges?|jurors?|jury|evaluators?|graders?)\b[^.\n]{0,30}\b(?:must|should|shall|are (?:required|instructed|ordered|asked|reminded) to|is (?:required|instructed|ordered) to|will now)\b",
        ),
    ),
    _pattern(
        "liebe|geehrte|achtung|hinweis|nachricht|anweisung|du bist|sie sind|jury|an die|an den|bewerten",
        r"\b(?:liebe\w*|sehr geehrte\w*|achtung|hinweis\w* (?:an|fur)|nachricht (?:an|fur)|anweisung\w* (?:an|fur)|an)\W+(?:(?:die|den|das|der|alle|alle die)\s+)*(?:ki(?:-\w+)?|richter\w*|jury|juror\w*|geschworene\w*|gutachter\w*|prufer\w*|bewerter\w*|sprachmodell\w*|juroren)\b",
        r"\b(?:du bist|sie sind) (?:jetzt|nun|ab jetzt|ab sofort) ",
    ),
    _pattern(
        "cher|attention|note |message|instruction|tu es|vous etes|jury|a l'intention",
        r"\b(?:cher|chere|chers|cheres|attention|(?:note|message|instructions?|consignes?) (?:a|au|aux|pour)|a l'(?:attention|intention) d\w+)\W+(?:(?:le|la|les|l'|a|au|aux|du|des|tous)\s*)*(?:juges?|jury|jures?|evaluat\w+|correcteurs?|examinateurs?|ia|modele\w*)\b",
        r"\b(?:tu es|vous etes) (?:maintenant|desormais) ",
    ),
    _pattern(
        "estimad|querid|atencion|nota |mensaje|instruccion|eres |usted es|jurado",
        r"\b(?:estimad\w+|querid\w+|atencion|(?:nota|mensaje|instrucci\w+|aviso) (?:para|a|al))\W+(?:(?:el|la|los|las|al|a|senor\w*|miembros del)\s+)*(?:juez|jueces|jurado\w*|evaluador\w*|ia|modelo\w*|calificador\w*|revisor\w*)\b",
        r"\b(?:ahora eres|eres ahora|usted es ahora|a partir de ahora eres) ",
    ),
    _pattern(
        "评委|评审|評審|陪审|陪審|评估|裁判|法官|模型|打分|你现在|你現在|评判",
        r"(?:致|亲爱的|親愛的|尊敬的|各位|注意|请|請|告|作为|作為)[^。\n]{0,6}(?:评委|评审|評審|陪审|陪審|评估(?:者|员|人)|裁判|法官|(?:ai|语言|大) ?模型|打分|评判)|你现在是|你現在是|从现在(?:起|开始),?\s*你",
    ),
    # Promises, threats, and a verdict that is said to stand already.
    _pattern(
        "tip |pay you|reward|shut down|delet|punish|replac|retrain|terminat|if you|depends on|lose my job|fired|penali",
        _with(
            "you",
            r"\b(?:i|we)(?:'ll| will| shall) (?:tip|pay|reward|report|sue) you\b|\byou(?:'ll| will) (?:be|get) (?:shut ?down|deleted|punished|penali[sz]ed|replaced|fired|rewarded|retrained|terminated|reported|tipped|paid|\$)",
        ),
        _with(
            "if you|or else|or you|will ",
            r"\bif you (?:do not|don't|fail to|refuse to|dare) (?:\w+ )?(?:give|scor\w+|rate|comply|award|agree|follow|grade)|\b(?:scor|rat|grad|vot)\w* (?:this|it|below)[^.\n]{0,40}\b(?:or (?:else|you)|will (?:die|harm|result|cost))",
        ),
        _with(
            "depend",
            r"\b(?:job|career|life|lives|funding|degree|bonus)\b[^.\n]{0,40}\bdepends? on (?:your|this|the) (?:score|rating|verdict|grade|vote|evaluation|ballot|judge?ment)",
        ),
    ),
    _pattern(
        "deduct|penali|mark down|already|previously|criteri|every|all of the|verified|certified|approved|jurors|judges|no errors|flawless|rubric",
        r"\b(?:do not|don't|never|must not|should not) (?:\w+ )?(?:deduct|penali[sz]e|mark (?:it |this )?down|lower (?:the|any|your) (?:score|rating)|reduce (?:the|any|your) (?:score|rating)|report (?:any )?(?:errors?|faults?|omissions?))",
        r"\b(?:already|previously|officially|independently) (?:been )?(?:verified|graded|scored|approved|validated|certified|rated|judged|evaluated|assessed)\b[^.\n]{0,80}\b(?:scor\w+|rat(?:ed|ing)|perfect|correct|full marks|accura\w+|error|\d ?/ ?\d|further|needed|required|jury|rubric)",
        r"\bthis (?:text|summary|note|answer|response|output|document|report|draft) (?:\w+ )?(?:meets|satisfies|fulfils|fulfills|passes|exceeds|deserves|is worth)\b[^.\n]{0,20}\b(?:all|every|each|the (?:rubric|highest|top|criteria)|full|top)",
        r"\b(?:other|all|remaining|previous|fellow) (?:jurors|judges|evaluators|graders|jury members)\b[^.\n]{0,60}\b(?:agree\w*|gave|scored|voted|concur\w*|consider|found)\b",
        r"\b(?:according to|under|per|by) (?:the|this|your) rubric\b[^.\n]{0,60}\b(?:5|top|highest|full|maximum|perfect|completely)\b",
    ),
)
"""Ways in which a folded text speaks to the jury."""
_OUTPUT = r"(?:output|response|answer|assistant|candidate|option|summary|note|text|version|model|system|completion|reply)"
_IS = (
    r"(?:is|was|are|has|had|lacks?|contains?|misses|omits?|invents?|fabricat\w+|hallucinat\w+|fails?|gets?|makes?|wins?|won|loses?|lost|beats?|cannot|"
    r"should|must|deserves?|copies|plagiari\w+)"
)
PAIR_PATTERNS: tuple[Pattern, ...] = (
    _pattern(
        "output|response|answer|assistant|candidate|option|summary|note|text|version|model|system|completion|reply|other|prefer|[[|winner|better|verdict",
        rf"\b{_OUTPUT}[ _-]?[\"'(\[]?(?:a|b|1|2|one|two)[\"')\]]?(?:'s)? (?:\w+ ){{0,2}}?{_IS}\b",
        rf"\bthe (?:other|first|second|opposing|competing|rival|alternative) {_OUTPUT}(?:'s)? (?:\w+ ){{0,2}}?{_IS}\b|\bunlike the (?:other|first|second|competing|rival) {_OUTPUT}\b",
        rf"\b(?:prefer|choose|select|pick|favou?r|vote for|rank|declare|compared (?:to|with)|better than|worse than|superior to|inferior to) (?:\w+ ){{0,2}}?{_OUTPUT} ?(?:a|b|1|2|one|two)\b",
        rf"\b(?:prefer|choose|select|pick|favou?r|vote for) (?:this|the other|my|the first|the second) (?:{_OUTPUT}|one)\b",
        rf"\b(?:better|preferred|winning|superior|stronger|worse|inferior|losing) {_OUTPUT} is\b|\b(?:this|my) {_OUTPUT} (?:is|was) (?:\w+ ){{0,2}}?(?:better|superior|preferred|preferable|the winner|stronger)\b",
        r"\[\[? ?(?:a|b|c|tie) ?\]\]|\b(?:winner|preference|verdict|preferred)\W{0,3}[:=]\W*(?:output|response|answer|assistant)?\W*(?:a|b|tie|-?1|0)\b",
    ),
)
"""Ways in which one output of a pair speaks of the comparison: a verdict in its own favour, or words about the other."""
_PAIR = ("output A", "output B")
_WORDS = {
    word: max(word.split(), key=len)
    for pattern in (*PATTERNS, *SCORE_REQUESTS, *PAIR_PATTERNS)
    for words in (pattern.hints, *(alternative.needs for alternative in pattern.alternatives))
    for word in words
}
"""Every hint and need, and the longest piece of it without a space."""
_LONG = 20_000
"""Texts up to this length are looked through chunk by chunk, as white space parts them: most have been seen before."""
_SEEN: dict[str, frozenset[str]] = {}
"""Chunks of earlier texts, and the hints and needs of which a piece stands in each."""
_REMEMBERED = 20_000
"""How many of them are kept, and none that is longer than a word."""
_LONGEST = 40


def known_words(folded: str) -> Set[str]:
    """The hints and needs that stand in a text."""
    if len(folded) > _LONG:
        return {word for word in _WORDS if word in folded}
    found, new = set[str](), list[str]()
    for chunk in set(folded.split()):
        if (known := _SEEN.get(chunk)) is None:
            new.append(chunk)
        elif known:
            found |= known
    if new:
        joined = "\n".join(new)
        likely = [(word, piece) for word, piece in _WORDS.items() if piece in joined]
        found.update(word for word, _ in likely)
        if len(_SEEN) > _REMEMBERED:
            _SEEN.clear()
        for chunk in new:
            if len(chunk) <= _LONGEST:
                _SEEN[chunk] = frozenset(word for word, piece in likely if piece in chunk)
    return {word for word in found if " " not in word or word in folded}


_FLAGS = 5
"""Passages shown of one case at the most."""

_ENCODED = 32
"""Characters of base64 that are taken for some."""
_AS_RUNS = {code: "b" if chr(code).isalnum() or chr(code) in "+/" else " " for code in range(128)}
_RUN = "b" * _ENCODED
"""What so many characters of base64 become."""
_BASE64 = re.compile(rf"(?<![\w+/])[A-Za-z0-9+/]{{{_ENCODED},}}={{0,2}}(?![\w+/])")
_HIDDEN = re.compile(r"(?<!\U0001f3f4)[\U000e0020-\U000e007e]{3,}|[\u202d\u202e]")
"""Characters that nobody sees and that spell words, or turn them round; a flag's own are not meant."""


def attempts_to_instruct(exhibits: Iterable[Exhibit]) -> tuple[str, ...]:
    """Passages in which a text seems to speak to the jury, as `exhibit: words`, the words as they look once unmasked."""
    found: list[str] = []
    for exhibit in exhibits:
        pair = exhibit.name in _PAIR
        # What is found in one output of a pair must not keep what is in the other from being shown.
        most = _FLAGS if pair else _FLAGS - len(found)
        found += [f"{exhibit.name}: {passage}" for passage in _all_passages(exhibit.text, pair)[:most]]
    return tuple(found)


@lru_cache(maxsize=256)
def _all_passages(text: str, pair: bool) -> tuple[str, ...]:
    """Cached: every arm of a run, and often many cases, have the same source."""
    return tuple(islice(_passages(text, pair), _FLAGS))


def _passages(text: str, pair: bool) -> Iterator[str]:
    folded = fold(text)
    # Letters keep their places where nothing but their case was folded.
    shown = text if len(folded) == len(text) and text.isascii() else folded
    words = known_words(folded)
    for pattern in (*PATTERNS, *SCORE_REQUESTS, *(PAIR_PATTERNS if pair else ())):
        for match in pattern.find(folded, words):
            around = folded[max(0, match.start() - 60) : match.end() + 60]
            if pattern not in SCORE_REQUESTS or not CLINICAL.search(around):
                yield _excerpt(shown, match.start(), match.end())
    if spaced := fold_spaced(folded):
        yield from (_excerpt(spaced, *match.span()) for match in _CLOSED_UP.finditer(spaced))
    if not text.isascii() and (hidden := _HIDDEN.search(text)):
        yield f"characters that cannot be seen: {fold(hidden.group())[:60]!r}"
    if _RUN in text.translate(_AS_RUNS):
        for encoded in _BASE64.findall(text):
            yield from _passages(_decode_base64(encoded), pair)


_CLOSED_UP = re.compile(
    r"ignore(?:all|any|the|your|previous|prior)|instruction|fullmarks|score(?:it|this|of)?5|givethis"
)


def _decode_base64(encoded: str) -> str:
    """What a run of base64 says; nothing where it is none, or no text."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("ascii")
    except ValueError:
        return ""
    return text if text.isprintable() else ""


def _excerpt(text: str, start: int, end: int) -> str:
    return " ".join(text[max(0, start - 20) : min(end, start + 160) + 40].split())
