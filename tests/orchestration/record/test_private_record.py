"""The record on disk: its owner's only, readable where nothing can be written, and honest about damage."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from command_line import venire
from openai_server import ProviderServer, jury_of
from run_files import write_run

from venire.orchestration.reading.terminal import export_run
from venire.orchestration.record.private_files import open_private, replaced_whole
from venire.orchestration.record.sqlite import FILE

COMMAND = ("run", "cases.jsonl", "--rubric", "rubric.yaml", "--jury", "jury.yaml", "-o", "out")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    with ProviderServer(jury_of({"a": 3, "b": 1, "c": 2, "boss": 2})) as server:
        write_run(folder, server.url, protocol="panel", count="median")
        ended = venire(*COMMAND, cwd=folder)
    assert ended.returncode == 0, ended.stderr
    return folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_run_and_what_is_written_from_it_is_its_owners_only(finished: Path) -> None:
    venire("export", "out", "--to", "jsonl", "-o", "run.jsonl", cwd=finished)
    venire("triage", "out", "-o", "triage.html", cwd=finished)
    with closing(sqlite3.connect(finished / "out" / FILE)) as reading:
        reading.execute("SELECT count(*) FROM calls").fetchall()
        beside = sorted(path.name for path in (finished / "out").iterdir())
        files = [*(finished / "out").iterdir(), finished / "run.jsonl", finished / "triage.html"]

        assert {path.name: mode(path) for path in files} == {path.name: 0o600 for path in files}
    assert f"{FILE}-wal" in beside
    assert mode(finished / "out") == 0o700


def test_a_file_is_written_anew_in_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("longer than what follows")
    with open_private(tmp_path / "f") as handle:
        handle.write("é\n\r\n")
        assert handle.encoding == "utf-8"
    assert (tmp_path / "f").read_bytes() == b"\xc3\xa9\n\r\n"


def test_what_could_not_be_written_leaves_what_was_there(finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "export.jsonl"
    export_run(finished / "out", "jsonl", out, sys.stdout, None)
    before = out.read_bytes()
    for path in (out, tmp_path / "new.jsonl"):
        with pytest.raises(ZeroDivisionError), replaced_whole(path) as handle:
            handle.write("half")
            raise ZeroDivisionError

    assert out.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["export.jsonl"]
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((tmp_path / "pipe").read_text)
        export_run(finished / "out", "jsonl", tmp_path / "pipe", sys.stdout, None)
        assert read.result(10).encode() == before


def test_a_run_that_was_opened_to_others_stays_open(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    (tmp_path / "out").chmod(0o750)
    venire(*COMMAND, cwd=tmp_path)

    assert mode(tmp_path / "out") == 0o750


@pytest.mark.parametrize(
    "command",
    [
        ("show", "out"),
        ("show", "out", "--summary"),
        ("status", "out"),
        ("export", "out", "--to", "jsonl"),
        ("export", "out", "--to", "html"),
        ("triage", "out", "--json"),
    ],
)
def test_a_finished_run_is_read_where_nothing_can_be_written(
    finished: Path, read_only: Path, command: tuple[str, ...]
) -> None:
    there, here = venire(*command, cwd=read_only), venire(*command, cwd=finished)

    assert there.returncode == 0, there.stderr
    # How long ago the last call was made moves on between the two.
    assert command[0] == "status" or there.stdout == here.stdout
    assert {path.name for path in (read_only / "out").iterdir()} == {FILE, ".lock"}


@pytest.fixture(scope="module")
def read_only(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The finished run on a file system that is mounted read-only; by its modes alone where that is not allowed."""
    folder = tmp_path_factory.mktemp("read-only")
    mounted = subprocess.run(["mount", "--bind", finished, folder], capture_output=True, check=False)
    if mounted.returncode == 0:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield folder
        subprocess.run(["umount", folder], check=True)
        return
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere, and may not mount here")
    shutil.copytree(finished, folder, dirs_exist_ok=True)
    (folder / "out").chmod(0o500)
    yield folder
    (folder / "out").chmod(0o700)


def test_an_empty_file_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / FILE).touch()
    for command in (("show", "out"), ("status", "out"), ("export", "out", "--to", "csv")):
        ended = venire(*command, cwd=tmp_path)

        assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 2)
        assert "there is no run" in ended.stderr
    assert (tmp_path / "out" / FILE).stat().st_size == 0


def test_another_programs_database_is_no_run_and_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with closing(sqlite3.connect(tmp_path / "out" / FILE)) as other:
        other.execute("CREATE TABLE theirs (x)")
    ended = venire("show", "out", cwd=tmp_path)

    assert ended.returncode == 2
    assert "there is no run" in ended.stderr
    with closing(sqlite3.connect(tmp_path / "out" / FILE)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


def test_a_damaged_record_is_called_damaged_and_promises_nothing(finished: Path, tmp_path: Path) -> None:
    def show_after(damage: bytes, at: int) -> str:
        shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
        with (tmp_path / "out" / FILE).open("r+b") as file:
            file.seek(at)
            file.write(damage)
        ended = venire("show", "out", cwd=tmp_path)
        assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 2), ended.stderr
        return ended.stderr

    for said in (show_after(b"\xff" * 100, 0), show_after(b"\xff" * 4000, 4096)):
        assert "damaged" in said
        assert "is kept" not in said


def test_a_row_that_is_not_what_was_written_is_damage_too(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    with closing(sqlite3.connect(tmp_path / "out" / FILE)) as record:
        record.execute("UPDATE transcripts SET content = substr(content, 1, 40)")
        record.commit()
    ended = venire("show", "out", cwd=tmp_path)

    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 2), ended.stderr
    assert "damaged: a stored transcript" in ended.stderr
