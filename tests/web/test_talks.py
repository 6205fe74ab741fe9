"""What was said and heard, in the inspector: escaped, and only there when an alignment was given."""

from __future__ import annotations

from pathlib import Path

from inspector_server import InspectorServer
from planted_run import planted_run

from venire.evals.transcripts.aligners import lexical_alignment
from venire.evals.transcripts.alignment import empty_alignment
from venire.evals.transcripts.talk import Talk, Utterance


def test_the_two_talks_stand_side_by_side(tmp_path: Path) -> None:
    said = Talk("call <one>", (Utterance(text="No <b>pain</b> at all"), Utterance(text="Goodbye then")))
    heard = Talk("heard", (Utterance(text="some <b>pain</b> at all"),))
    talk = lexical_alignment(empty_alignment(said, heard))
    run = planted_run(tmp_path / "run")

    with InspectorServer(run, talks=[talk]) as server:
        page = server.ask("talks").text
        assert "Said and heard" in server.ask("").text
    assert "call &lt;one&gt;" in page and "<b>pain" not in page
    assert "<del>No</del>" in page and "<mark>some</mark>" in page and "missed" in page

    with InspectorServer(run) as server:
        assert server.ask("talks").status == 404
        assert "Said and heard" not in server.ask("").text
