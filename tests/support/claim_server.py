"""A local provider that lists and checks claims as a test tells it to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from openai_server import Answer, Call

from venire import Case, Jury

ASKED = re.compile(r"^Check: (.+)\.$", re.MULTILINE)


def asked_ids(call: Call) -> list[str]:
    """The ids of the claims that a verification asks about; empty for an extraction."""
    found = ASKED.search(call.prompt)
    return found.group(1).split(", ") if found else []


def checks(verdicts: Mapping[str, str], quote: str = "", reason: str = "As the text says.") -> dict[str, Any]:
    """An answer with these verdicts, by claim id."""
    return {
        "checks": [
            {"claim": claim, "reason": reason, "evidence": quote, "verdict": verdict}
            for claim, verdict in verdicts.items()
        ]
    }


def listed(claims: Sequence[str | Mapping[str, Any]]) -> dict[str, Any]:
    """An extractor's answer: each claim as a text, which is its own quote, or with all its fields."""
    return {
        "claims": [
            {"text": each, "quote": each, "central": False} if isinstance(each, str) else dict(each)
            for each in claims
        ]
    }


def claim_provider(
    output: Sequence[Any],
    verdict: Callable[[str, str], str] | Mapping[str, str],
    *,
    reference: Sequence[Any] = (),
    quote: Callable[[str], str] = lambda claim: "",
) -> Answer:
    """Lists `output` and `reference`; answers `verdict(model, claim id)`, or the one that it holds, for what is asked."""

    def answer(call: Call) -> Any:
        ids = asked_ids(call)
        if not ids:
            return listed(reference if 'of the text "reference"' in call.prompt else output)
        say = verdict if callable(verdict) else lambda model, claim: verdict[claim]
        said = {claim: say(call.model, claim) for claim in ids}
        return {"checks": [each for c, v in said.items() for each in checks({c: v}, quote(c))["checks"]]}

    return answer


def claims_jury(url: str, *verifiers: str, options: Mapping[str, Any] | None = None, **fields: Any) -> Jury:
    """A jury whose extractor and verifiers are models of a local server."""
    seats = [{"name": "extractor", "extracts": True}, *({"name": name} for name in verifiers)]
    for seat in seats:
        seat.update(model=f"server/{seat['name']}", base_url=url)
    return Jury.model_validate(
        {
            "name": "claims",
            "protocol": "decompose-verify",
            "claims": dict(options or {}),
            "seats": seats,
            **fields,
        }
    )


def sentences(number: int, word: str = "Claim") -> list[str]:
    """So many sentences that can be told apart."""
    return [f"{word} number {place} holds." for place in range(1, number + 1)]


def claims_case(output: Sequence[str], reference: str | None = "The reference text.", **fields: Any) -> Case:
    """A case whose output is made of sentences."""
    return Case(id=fields.pop("id", "case-1"), output=" ".join(output), reference=reference, **fields)
