"""Adapters at a seat: found, hashed, and never put on a base they were not trained on."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from gguf_files import f32, write_gguf

from venire import Jury, Rubric
from venire.agents.clients import adapters, weights
from venire.agents.clients.adapters import (
    SHIPPED,
    adapter_of,
    check_base,
    file_sha256,
    read_adapter,
)
from venire.agents.clients.local import connect
from venire.agents.clients.local_engine import sampling_of
from venire.agents.doctor import diagnose
from venire.agents.gateway import adapter_hashes, sampling
from venire.agents.model import Request, Sampling
from venire.orchestration.record.manifest import arm_fingerprint, arm_manifest
from venire.personas.jury import ModelSettings, load_jury
from venire.rubrics.errors import VenireError
from venire.rubrics.rubric import load_rubric

MEGABYTE = 1_000_000


def adapter_file(path: Path, base: str | None = None, kind: str = "adapter") -> Path:
    """A GGUF file with a header and no tensors."""
    words = {"general.type": kind, "adapter.type": "lora", **({"venire.base.sha256": base} if base else {})}
    return write_gguf(path, words)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Weights of one's own: nothing is loaded before the first request."""
    path = tmp_path / "base.gguf"
    path.write_bytes(b"GGUF and some weights")
    return path


def test_the_shipped_adapter_is_small_and_belongs_to_the_embedded_weights() -> None:
    assert SHIPPED.stat().st_size <= 24 * MEGABYTE
    assert read_adapter(SHIPPED).base_sha256 == weights.SHA256


@pytest.mark.parametrize(
    ("model", "path"),
    [(None, SHIPPED), ("local", SHIPPED), ("local/base", None), ("server/x", None), ("gpt-4o", None)],
)
def test_plain_local_is_the_base_with_the_shipped_adapter(model: str | None, path: Path | None) -> None:
    found = adapter_of(ModelSettings(model=model))

    assert (found and found.path) == path


def test_base_weights_that_an_adapter_was_not_trained_on_are_refused(tmp_path: Path, base: Path) -> None:
    other = adapter_file(tmp_path / "mine.gguf", base="ab" * 32)

    with pytest.raises(VenireError, match=r"mine\.gguf was trained on other base weights than base\.gguf"):
        connect(ModelSettings(model=f"local/{base}", adapter=str(other)))


def test_an_adapter_that_names_its_base_or_none_is_taken(tmp_path: Path, base: Path) -> None:
    for name, stated in (("named.gguf", file_sha256(base)), ("unnamed.gguf", None)):
        check_base(read_adapter(adapter_file(tmp_path / name, base=stated)), base)


def test_a_shipped_adapter_that_was_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = bytearray(SHIPPED.read_bytes())
    changed[-1] ^= 1
    (tmp_path / "embedded-juror.gguf").write_bytes(changed)
    assert adapters.shipped_adapter().sha256 == adapters.SHIPPED_SHA256
    monkeypatch.setattr(adapters, "SHIPPED", tmp_path / "embedded-juror.gguf")

    with pytest.raises(VenireError, match="missing or was changed"):
        adapter_of(ModelSettings(model="local"))


@pytest.mark.parametrize(
    ("name", "number"), [("block_count", 2**32 - 1), ("context_length", 2**31 - 1), ("block_count", 3)]
)
def test_a_model_with_an_impossible_header_is_refused_before_it_is_loaded(
    tmp_path: Path, name: str, number: int
) -> None:
    pytest.importorskip("xllamacpp")
    words = {"general.architecture": "llama", "llama.block_count": 1, f"llama.{name}": number}
    path = write_gguf(tmp_path / "odd.gguf", words, {"blk.0.attn_q.weight": f32([[1.0] * 32])})

    with pytest.raises(VenireError, match=rf"odd\.gguf is damaged: llama\.{name}"):
        connect(ModelSettings(model=f"local/{path}"))


def test_a_model_that_llama_cpp_cannot_run_is_refused_before_it_is_asked(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    path = write_gguf(tmp_path / "odd.gguf", {"general.architecture": "llama"})

    with pytest.raises(VenireError, match=r"llama\.cpp cannot run this model file"):
        connect(ModelSettings(model=f"local/{path}"))


@pytest.mark.skipif(weights.weights_path() is None, reason="needs the embedded weights")
def test_an_adapter_that_cannot_be_added_to_the_embedded_weights_is_refused(tmp_path: Path) -> None:
    words = {"general.type": "adapter", "adapter.type": "lora"}
    place = "blk.99.attn_q.weight"
    path = write_gguf(
        tmp_path / "odd.gguf",
        words,
        {f"{place}.lora_a": f32([[1.0] * 32]), f"{place}.lora_b": f32([[1.0]])},
    )

    with pytest.raises(
        VenireError, match=r"the adapter odd\.gguf cannot be loaded onto the embedded model"
    ) as error:
        connect(ModelSettings(model="local", adapter=str(path)))

    assert "LoRA" in error.value.remedy


@pytest.mark.skipif(weights.weights_path() is None, reason="needs the embedded weights")
def test_an_adapter_whose_thresholds_cannot_be_read_is_refused(tmp_path: Path) -> None:
    words = {"general.type": "adapter", "adapter.type": "lora", "venire.fault_thresholds": "[{}]"}
    path = write_gguf(tmp_path / "odd.gguf", words)

    with pytest.raises(VenireError, match=r"odd\.gguf cannot be loaded .*fault_thresholds cannot be read"):
        connect(ModelSettings(model="local", adapter=str(path)))


@pytest.mark.parametrize("content", [b"", b"PK", b"GGUF", b"GGUF" + b"\xff" * 40])
def test_a_file_that_is_no_adapter_is_the_users_mistake(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(content)

    with pytest.raises(VenireError, match="is not an adapter in GGUF"):
        read_adapter(path)


def test_a_whole_model_is_no_adapter(tmp_path: Path) -> None:
    with pytest.raises(VenireError, match="is not an adapter"):
        read_adapter(adapter_file(tmp_path / "model.gguf", kind="model"))


def test_an_adapter_needs_a_local_model(tmp_path: Path) -> None:
    with pytest.raises(VenireError, match="only with a local model, not with server/x"):
        adapter_of(ModelSettings(model="server/x", adapter=str(adapter_file(tmp_path / "a.gguf"))))


def test_a_missing_adapter_is_named(tmp_path: Path) -> None:
    with pytest.raises(VenireError, match=r"no adapter file at .*gone\.gguf"):
        adapter_of(ModelSettings(model="local", adapter=str(tmp_path / "gone.gguf")))


def test_the_path_of_an_adapter_is_relative_to_the_jury_file(tmp_path: Path) -> None:
    adapter_file(tmp_path / "mine.gguf")
    (tmp_path / "jury.yaml").write_text(
        "name: mine\nprotocol: panel\nseats:\n  - {name: a, model: local/base, adapter: mine.gguf}\n"
    )

    jury = load_jury(tmp_path / "jury.yaml")

    assert adapter_of(jury.seats[0]) == read_adapter(tmp_path / "mine.gguf")


def test_the_hash_of_an_adapter_is_in_the_address_of_a_call_and_in_the_manifest(tmp_path: Path) -> None:
    rubric: Rubric = load_rubric("clinical-note")
    one, other = (
        adapter_file(tmp_path / name, base=base) for name, base in (("a.gguf", None), ("b.gguf", "cd" * 32))
    )

    def jury(path: Path | None) -> Jury:
        seat = {"name": "a", "model": "local/base", **({"adapter": str(path)} if path else {})}
        return Jury.model_validate(
            {"name": "j", "protocol": "panel", "seats": [seat], "orchestrator": {"model": "server/x"}}
        )

    def arm(path: Path | None) -> dict[str, object]:
        return arm_manifest(rubric, jury(path), seed=0, scored=frozenset(), prices={})

    assert sampling(jury(one).seats[0])["adapter"] == read_adapter(one).sha256
    assert "adapter" not in sampling(jury(None).seats[0])
    assert arm(one)["adapters"] == {"a": read_adapter(one).sha256}
    assert "adapters" not in arm(None)
    assert len({arm_fingerprint(arm(path)) for path in (one, other, None)}) == 3


def test_a_jury_on_plain_local_names_the_shipped_adapter_in_its_manifest() -> None:
    assert set(adapter_hashes(load_jury("local-stances"), presided=True).values()) == {
        read_adapter(SHIPPED).sha256
    }


def test_doctor_tells_base_and_adapter_with_their_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_adapter(SHIPPED).sha256[:16] in diagnose()["adapter"]
    assert "for these weights" in diagnose()["adapter"]


def test_repeats_are_not_penalised_once_the_model_was_taught() -> None:
    request = Request("local", (), None, Sampling(), repeat=0, timeout=1)

    assert sampling_of(request, taught=True).repeat_penalty == 1.0
    assert sampling_of(request, taught=False).repeat_penalty == 1.1


def test_a_jury_without_a_local_model_has_the_manifest_that_it_had() -> None:
    """Its orchestrator would be `local` if it were asked; where nobody presides, it is not."""
    assert not adapter_hashes(load_jury("lens-jury").fill(model=None), presided=False)


def test_an_adapter_that_was_changed_in_place_has_another_hash(tmp_path: Path) -> None:
    hashes = []
    for number, base in enumerate(("a" * 64, "b" * 64)):
        path = adapter_file(tmp_path / "mine.gguf", base)
        os.utime(path, ns=(10**18 + number, 10**18 + number))
        read = read_adapter(path)
        assert read.base_sha256 == base
        assert read.sha256 == file_sha256(path) == hashlib.sha256(path.read_bytes()).hexdigest()
        hashes.append(read.sha256)

    assert len(set(hashes)) == 2


def test_an_adapter_is_looked_for_in_ones_home_and_taken_by_no_model_whose_name_only_begins_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = adapter_file(tmp_path / "mine.gguf")

    for model in ("local", "local/base", "local/other.gguf", None):
        found = adapter_of(ModelSettings(model=model, adapter="~/mine.gguf"))
        assert found is not None and found.path == path
    with pytest.raises(VenireError, match="only with a local model, not with locality/m"):
        adapter_of(ModelSettings(model="locality/m", adapter="~/mine.gguf"))
