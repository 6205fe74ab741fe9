"""Said and heard: two transcripts of one talk, aligned."""

from __future__ import annotations

from pathlib import Path

import click

from .options import BASE_URL, JSON, console, print_json, say


@click.command(short_help="Two transcripts of one talk, aligned: what was heard of what was said.")
@click.argument("said", type=click.Path(path_type=Path))
@click.argument("heard", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="A.json", help="Write the alignment."
)
@click.option(
    "--check",
    type=click.Path(path_type=Path),
    metavar="GOLD",
    help="How right it is beside a gold alignment.",
)
@click.option(
    "--cases",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write cases (JSONL): said, heard, the turns before.",
)
@click.option("--differing", is_flag=True, help="With --cases: leave out what was heard word for word.")
@click.option(
    "--page",
    type=click.Path(path_type=Path),
    metavar="HTML",
    help="Write the two talks side by side as one page.",
)
@click.option(
    "--speaker",
    help="Whose utterances were to be heard; without it everybody's, or the one the format means.",
)
@click.option("--name", help="Of the consultation; without it the file's.")
@click.option(
    "--model", help="A model proposes the groups instead of the words; `local` is the embedded one."
)
@BASE_URL
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="With --model: keep the calls here, and pay for none twice.",
)
@click.option("--proposal", type=click.Path(path_type=Path), help="Take the groups from this alignment.")
@click.option("--raw", is_flag=True, help="Leave the proposal as it is: no rule refines it.")
@JSON
def align(
    said: Path,
    heard: Path,
    output: Path | None,
    check: Path | None,
    cases: Path | None,
    differing: bool,
    page: Path | None,
    speaker: str | None,
    name: str | None,
    model: str | None,
    base_url: str | None,
    record: Path | None,
    proposal: Path | None,
    raw: bool,
    as_json: bool,
) -> None:
    """Align what was SAID with what was HEARD: .jsonl, .TextGrid, .srt, .vtt, Whisper's or Deepgram's .json.

    Without --model no model is asked. Exits with 4 where a model gave no alignment.
    """
    import json

    from ..evals.pages.alignment_page import alignment_sentences, alignment_table, write_alignment_page
    from ..evals.transcripts.accuracy import alignment_accuracy
    from ..evals.transcripts.alignment import empty_alignment
    from ..evals.transcripts.cases import alignment_cases
    from ..evals.transcripts.files import read_groups, write_alignment
    from ..evals.transcripts.lexical import lexical_alignment
    from ..evals.transcripts.readers import read_talk
    from ..evals.transcripts.refinement import refine
    from ..orchestration.record.atomic_write import write_atomically
    from ..rubrics.errors import VenireError
    from ..rubrics.files import nearest

    if model and proposal:
        raise VenireError("--model and --proposal both propose groups", remedy="keep one of the two")
    talk, gold = read_talk(said), read_groups(check) if check else None
    if speaker and talk.speakers and not talk.places(speaker):
        raise VenireError(f"{said}: no speaker {speaker!r}", remedy=nearest(speaker, talk.speakers))
    found = empty_alignment(talk, read_talk(heard), speaker)
    if name:
        found = found.model_copy(update={"name": name})
    if proposal:
        found = found.model_copy(update={"groups": read_groups(proposal), "aligner": str(proposal.name)})
    elif model:
        from ..evals.transcripts.asking import ask_model

        found = ask_model(found, model, base_url, record)
    else:
        found = lexical_alignment(found)
    found = found if raw else refine(found)
    right = None
    if gold is not None and found.abstention is None:
        right = alignment_accuracy(found.groups, gold, said=len(found.said), heard=len(found.heard))
    if output:
        write_alignment(output, found)
    if cases:
        rows = alignment_cases(found, differing=differing)
        write_atomically(cases, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    if page:
        write_alignment_page(found, page)
    if as_json:
        print_json(found.to_json() | ({"accuracy": right.to_json()} if right else {}))
    else:
        if not output and not cases and not page:
            console().print(alignment_table(found))
        for sentence in (*alignment_sentences(found), *(right.sentences() if right else ())):
            say(sentence)
    if found.abstention is not None:
        raise SystemExit(4)
