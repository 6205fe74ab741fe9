"""Measures of texts, talks and pairs: metrics, align, winrate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import (
    BASE_URL,
    JSON,
    NO_RESAMPLES,
    QUIET,
    REFERENCE,
    console,
    location,
    print_json,
    say,
    sheet_option,
)

if TYPE_CHECKING:
    from ..evals.audits.win_rates import Ties
    from ..evals.metrics.metric import Family
    from ..evals.ratings.reference import Rule


@click.command(short_help="Compute win rates and strengths from pairwise preferences.")
@click.argument("file", type=location, metavar="RUN|FILE")
@click.option(
    "--ties",
    type=click.Choice(["half", "drop", "separate"]),
    default="half",
    show_default=True,
    help="Count a tie as half a win for each system, leave it out, or count it as neither won nor lost.",
)
@JSON
@sheet_option("file")
def winrate(file: Path | str, ties: Ties, as_json: bool) -> None:
    """Compute systems' win rates with errors, and Bradley-Terry and Davidson strengths, from a RUN of pairs or a FILE of preferences.

    A RUN is reported by arm and attribute, with the effects of position, label and length on its preferences. A FILE needs
    the columns case, first, second and preference (1, 2, tie or a number from 1 to 2); judge and order are optional.
    Files of AlpacaEval and MT-bench can be given unchanged.
    """
    if isinstance(file, str) or file.is_dir():
        _run_winrate(file, ties, as_json)
        return
    from ..evals.audits.win_rates import win_rates, win_rates_answer, win_rates_json
    from ..evals.ratings.preferences import load_preferences
    from ..evals.report.terminal import show_answer

    preferences, lost = load_preferences(file)
    rates = win_rates(preferences, ties=ties)
    if as_json:
        print_json(win_rates_json(str(file), rates, lost))
        return
    show_answer(win_rates_answer(rates, lost), console())


def _run_winrate(run: Path | str, ties: Ties, as_json: bool) -> None:
    from ..evals.audits.pair_bias import compared_systems, pair_json, pair_section
    from ..evals.report.terminal import show_answer
    from ..rubrics.errors import VenireError

    reports, hung = compared_systems(run, ties=ties)
    if not reports:
        raise VenireError(
            f"{run}: no comparison has a verdict, because the jury was hung on all of them",
            remedy=f"to see why, run: venire show {run} --summary",
        )
    if as_json:
        print_json(
            {
                "run": str(run),
                "comparisons": [pair_json(report, str(run)) for report in reports],
                "without_preference": [arm._asdict() for arm in hung],
            }
        )
        return
    for report in reports:
        show_answer(pair_section(report), console())
    for arm, attribute, pairs in hung:
        say(
            f"{arm}: {attribute}: none of the pairs of outputs that the jury judged ({pairs}) has a verdict on which output is better"
        )


@click.command(short_help="Align two transcripts of one talk: what was said and what was heard.")
@click.argument("said", type=click.Path(path_type=Path))
@click.argument("heard", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="A.json",
    help="Write the alignment to this file.",
)
@click.option(
    "--check",
    type=click.Path(path_type=Path),
    metavar="GOLD",
    help="Compare with a gold alignment and report the accuracy.",
)
@click.option(
    "--cases",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write cases (JSONL): what was said, what the recogniser heard, and the turns before it.",
)
@click.option(
    "--differing",
    is_flag=True,
    help="With --cases: leave out utterances that were transcribed word for word.",
)
@click.option(
    "--page",
    type=click.Path(path_type=Path),
    metavar="HTML",
    help="Write the two transcripts side by side as an HTML page to this file.",
)
@click.option(
    "--speaker",
    help="The speaker whose words are aligned (default: the one that the format names, else everybody).",
)
@click.option("--name", help="Name of the consultation (default: the file's name).")
@click.option(
    "--model",
    help="Let this model propose which utterances belong together, instead of comparing words; `local` is the embedded model.",
)
@BASE_URL
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="With --model: record the calls here, so that none is paid twice.",
)
@click.option("--proposal", type=click.Path(path_type=Path), help="Start from the alignment in this file.")
@click.option("--raw", is_flag=True, help="Keep the proposed alignment as it is; do not refine it by rules.")
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

    Without --model no model is asked. The exit status is 4 if a model gave no alignment.
    """
    import json

    from ..evals.transcripts.accuracy import alignment_accuracy
    from ..evals.transcripts.aligners import ask_model, lexical_alignment
    from ..evals.transcripts.alignment import alignment_cases, empty_alignment, read_groups, write_alignment
    from ..evals.transcripts.alignment_page import alignment_sentences, alignment_table, write_alignment_page
    from ..evals.transcripts.refinement import refine
    from ..evals.transcripts.talk import read_talk
    from ..orchestration.record.private_files import write_atomically
    from ..rubrics.errors import VenireError
    from ..rubrics.files import nearest

    if model and proposal:
        raise VenireError("--model and --proposal cannot be used together", remedy="keep one of the two")
    talk, gold = read_talk(said), read_groups(check) if check else None
    if speaker and talk.speakers and not talk.places(speaker):
        raise VenireError(
            f"{said}: the transcript has no speaker {speaker!r}", remedy=nearest(speaker, talk.speakers)
        )
    alignment = empty_alignment(talk, read_talk(heard), speaker)
    if name:
        alignment = alignment.model_copy(update={"name": name})
    if proposal:
        alignment = alignment.model_copy(
            update={"groups": read_groups(proposal), "aligner": str(proposal.name)}
        )
    elif model:
        alignment = ask_model(alignment, model, base_url, record)
    else:
        alignment = lexical_alignment(alignment)
    alignment = alignment if raw else refine(alignment)
    accuracy = None
    if gold is not None and alignment.abstention is None:
        accuracy = alignment_accuracy(
            alignment.groups, gold, said=len(alignment.said), heard=len(alignment.heard)
        )
    if output:
        write_alignment(output, alignment)
    if cases:
        rows = alignment_cases(alignment, differing=differing)
        write_atomically(cases, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    if page:
        write_alignment_page(alignment, page)
    if as_json:
        print_json(alignment.to_json() | ({"accuracy": accuracy.to_json()} if accuracy else {}))
    else:
        if not output and not cases and not page:
            console().print(alignment_table(alignment))
        for sentence in (*alignment_sentences(alignment), *(accuracy.sentences() if accuracy else ())):
            say(sentence)
    if alignment.abstention is not None:
        raise SystemExit(4)


@click.command(short_help="Compute WER, ROUGE and other metrics; test whether they agree with people.")
@click.argument("cases", metavar="CASES|A.json", type=click.Path(path_type=Path))
@click.option("--differing", is_flag=True, help="Leave out outputs that equal their reference word for word.")
@click.option(
    "--human", type=click.Path(path_type=Path), help="People's ratings to compare the metrics with."
)
@click.option("--attribute", help="The attribute to use, if people rated several.")
@click.option(
    "--rubric", help="The rubric that says which end of the scale is bad (without one: the high end)."
)
@click.option(
    "--family",
    "families",
    type=click.Choice(["edit", "overlap", "meaning"]),
    multiple=True,
    help="Only this family of metrics; repeatable.",
)
@click.option("--metric", "names", multiple=True, metavar="NAME", help="Only this metric; repeatable.")
@click.option(
    "--normal",
    default="plain",
    show_default=True,
    help="Normalisation of both texts: asr-en, asr-en-verbatim (fillers kept), plain, or a YAML file.",
)
@click.option(
    "--scores",
    type=click.Path(path_type=Path),
    help="Table of other programs' scores, with the columns case,metric,value and optionally direction,family.",
)
@click.option(
    "--pair",
    nargs=2,
    metavar="WORSE BETTER",
    help="Two cases, of which the first is worse: test whether each metric scores the first case worse too.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write an HTML page with a figure, and CSV and JSON files, to this folder.",
)
@REFERENCE
@click.option("--seed", type=int, expose_value=False, hidden=True)
@NO_RESAMPLES
@QUIET
@JSON
@sheet_option("cases", "human")
def metrics(
    cases: Path,
    differing: bool,
    human: Path | None,
    attribute: str | None,
    rubric: str | None,
    families: tuple[Family, ...],
    names: tuple[str, ...],
    normal: str,
    scores: Path | None,
    pair: tuple[str, str] | None,
    output: Path | None,
    reference: Rule | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare the `output` of CASES with their `reference` by WER, MiniLM and other metrics; with --human, test the metrics against people.

    A missing output counts as an empty text. A case without a reference has no value, which is reported. In a file of
    `venire align`, what was heard is compared with what was said.
    """
    from ..evals.metrics.measuring import (
        differing_pairs,
        measure,
        people_labels,
        read_pairs,
        read_scores,
        risk_table,
        text_pairs,
        track,
    )
    from ..evals.metrics.metric import chosen_metrics
    from ..evals.metrics.metric_tables import (
        MetricReport,
        metrics_json,
        metrics_table,
        risk_terminal_table,
        write_metrics,
    )
    from ..evals.metrics.normalisation import load_normalisation
    from ..evals.ratings.people import load_ratings
    from ..evals.transcripts.alignment import alignment_cases, read_alignment
    from ..orchestration.reading.console import CountedProgress
    from ..rubrics import load_rubric

    metrics_used = chosen_metrics(names, families)
    normalisation = load_normalisation(normal)
    loaded_rubric = load_rubric(rubric) if rubric else None
    if cases.suffix.lower() == ".json":
        all_pairs = text_pairs(cases, enumerate(alignment_cases(read_alignment(cases)), 1))
    else:
        all_pairs = read_pairs(cases)
    pairs = differing_pairs(all_pairs, normalisation) if differing else all_pairs
    labels = None
    if human:
        ids = [p.case for p in pairs]
        labels = people_labels(
            load_ratings(human),
            attribute=attribute,
            rubric=loaded_rubric,
            rule=reference,
            cases=ids,
        )
    given_scores, notes = (
        read_scores(scores, [m.case for m in pairs], [m.name for m in metrics_used]) if scores else ([], [])
    )
    with CountedProgress("tokens read by MiniLM", console(stderr=True), quiet=quiet or as_json) as progress:
        measured_metrics = [
            *measure(pairs, metrics_used, normal=normalisation, progress=progress),
            *given_scores,
        ]
    report = MetricReport(
        pairs,
        measured_metrics,
        normalisation,
        labels,
        track(measured_metrics, pairs, labels) if labels else (),
        risk_table(measured_metrics, *pair) if pair else None,
        [
            *notes,
            *(
                [
                    f"outputs left out, because they equal their reference word for word: {len(all_pairs) - len(pairs)}"
                ]
                if differing
                else []
            ),
        ],
    )
    page = write_metrics(report, output) if output else None
    if as_json:
        print_json(metrics_json(report))
        return
    console().print(metrics_table(report))
    if report.risk is not None and pair:
        console().print(risk_terminal_table(report.risk, *pair))
    for sentence in report.sentences():
        say(f"- {sentence}")
    if page:
        say(f"the page: {page}")
