"""The markup kit: whatever it did not make itself is words."""

from __future__ import annotations

import pytest

from venire.evals.report.markup import element, fragment, inline_script, inline_style


def test_words_are_escaped_wherever_they_stand() -> None:
    made = element("p", {"title": '"><script>'}, "<b>", ["&", None, False], fragment("'"))

    assert made == '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;&#x27;</p>'


@pytest.mark.parametrize(
    "attributes",
    [
        {"onclick": "x"},
        {"style": "x"},
        {"href": "javascript:alert(1)"},
        {"href": "//evil"},
        {"src": "https://x"},
        {"a b": 1},
    ],
)
def test_what_could_act_cannot_be_written(attributes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not an attribute|leaves the page"):
        element("a", attributes)


def test_characters_that_steer_are_shown_instead() -> None:
    assert fragment("a\x1b[2J\u202eb\x00") == "a\ufffd[2J\ufffdb\ufffd"


@pytest.mark.parametrize(("kind", "closing"), [(inline_style, "a</style>"), (inline_script, "a</script>")])
def test_a_style_sheet_cannot_end_its_own_element(kind: object, closing: str) -> None:
    with pytest.raises(ValueError, match="may not close its own element"):
        kind(closing)  # type: ignore[operator]
