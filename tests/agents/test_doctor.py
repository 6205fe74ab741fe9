"""What this installation is found to have: keys that are set, packages, the weights and the adapter."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from venire.agents import doctor
from venire.agents.clients.adapters import Adapter
from venire.agents.clients.weights import SHA256, Weights
from venire.rubrics.errors import VenireError


def told() -> str:
    console = Console(width=200)
    with console.capture() as printed:
        console.print(doctor.diagnosis_table(doctor.diagnose()))
    return printed.get()


def line(name: str) -> str:
    return next(" ".join(each.split()[1:]) for each in told().splitlines() if each.split()[:1] == [name])


def test_a_key_is_set_where_its_variable_holds_something_and_its_value_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("GROQ_API_KEY", "")
    monkeypatch.setenv("GEMINI_API_KEY", " \n")
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)

    keys = doctor.diagnose()["keys"]

    assert (keys["OPENAI_API_KEY"], keys["GROQ_API_KEY"], keys["MISTRAL_API_KEY"]) == (True, False, False)
    assert not keys["GEMINI_API_KEY"], "what is blank is no key to any client"
    assert [line(f"{name}_API_KEY") for name in ("OPENAI", "GROQ", "MISTRAL")] == [
        "set",
        "not set",
        "not set",
    ]
    assert "sk-canary" not in f"{told()}{doctor.diagnose()}"


def test_a_package_has_its_version_or_what_it_is_needed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        if package == "xllamacpp":
            raise doctor.PackageNotFoundError
        return "1.2.3"

    monkeypatch.setattr(doctor, "version", version)

    assert doctor.diagnose()["packages"]["xllamacpp"] is None
    assert line("xllamacpp") == "not installed; needed for running model files (GGUF) of your own"
    assert (line("venire"), line("numpy")) == ("1.2.3", "1.2.3")


@pytest.mark.parametrize(
    ("intact", "says"), [(True, "the file is intact, SHA-256"), (False, "this is NOT the expected file (")]
)
def test_weights_are_the_expected_ones_or_said_not_to_be(
    monkeypatch: pytest.MonkeyPatch, intact: bool, says: str
) -> None:
    monkeypatch.setattr(doctor, "check_weights", lambda: Weights(Path("base.gguf"), intact))

    found = doctor.diagnose()["weights"]

    assert found.startswith(says)
    assert found.endswith("(base.gguf)")
    assert (SHA256[:16] in found) == intact


@pytest.mark.parametrize(
    ("base", "says"), [(SHA256, "for these weights, SHA-256 abab"), ("0" * 64, "NOT for these weights"), (None, "NOT")]
)  # fmt: skip
def test_an_adapter_is_for_these_weights_or_said_not_to_be(
    monkeypatch: pytest.MonkeyPatch, base: str | None, says: str
) -> None:
    monkeypatch.setattr(doctor, "read_adapter", lambda path: Adapter(path, "ab" * 32, base))

    assert doctor.diagnose()["adapter"].startswith(says)


def test_what_is_missing_is_told_with_the_remedy_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise VenireError("it is not there", remedy="install it")

    monkeypatch.setattr(doctor, "check_weights", missing)
    monkeypatch.setattr(doctor, "read_adapter", missing)

    found = doctor.diagnose()

    assert found["weights"] == found["adapter"] == "it is not there; install it"
