"""A jury for other programs: serve (any language, over HTTP) and mcp (the tools of an agent)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from .options import BASE_URL, HOST, IN_FLIGHT, MODEL, Command, filled_juries, location, say, with_options

_JURY = (
    click.option("--rubric", required=True, help="A rubric file, or a name from `venire rubrics`."),
    click.option("--jury", required=True, help="A jury file, or a name from `venire juries`."),
    click.option(
        "-o",
        "--output",
        required=True,
        type=location,
        metavar="RUN",
        help="Directory or database of the record, as for `venire run`.",
    ),
    MODEL,
    BASE_URL,
)
"""Where a server listens."""
_HTTP = (
    *HOST,
    click.option(
        "--token-env",
        default="VENIRE_TOKEN",
        show_default=True,
        metavar="NAME",
        help="Environment variable with the token (on loopback, a token is made if it is not set).",
    ),
    click.option("--max-body", type=click.IntRange(min=1), default=1 << 20, show_default=True, help="Bytes."),
)
_LIMITS = (
    IN_FLIGHT,
    click.option(
        "--at-once",
        type=click.IntRange(min=1),
        default=32,
        show_default=True,
        help="Largest number of deliberations at the same time.",
    ),
    click.option(
        "--most-waiting",
        type=click.IntRange(min=0),
        default=1000,
        show_default=True,
        help="Largest number of waiting requests; others are refused with Retry-After.",
    ),
    click.option(
        "--max-connections",
        type=click.IntRange(min=1),
        default=2048,
        show_default=True,
        help="Largest number of open connections; idle ones are closed first.",
    ),
    click.option(
        "--max-usd",
        type=click.FloatRange(min=0, min_open=True),
        help="Stop when this many US dollars are spent.",
    ),
    click.option("--max-tokens", type=click.IntRange(min=1), help="Stop after this many tokens."),
    click.option("--prices", type=click.Path(path_type=Path), help="A file of prices, as for `venire run`."),
    click.option("--redact", is_flag=True, help="Keep the words of cases and jurors out of the record."),
)


@click.command()
@with_options(*_JURY, *_HTTP, *_LIMITS)
def serve(rubric: str, jury: str, output: Path | str, **options: Any) -> None:
    """Score cases over HTTP: POST a case, get its verdict. OpenAPI at /openapi.json."""
    from ..evals.service.server import serve as serve_jury

    _serve(serve_jury, rubric, jury, output, options)


@click.command()
@click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp, instead of stdin and stdout.")
@with_options(*_JURY, *_HTTP, *_LIMITS)
def mcp(rubric: str, jury: str, output: Path | str, http: bool, **options: Any) -> None:
    """Offer a jury to agents as MCP tools (Model Context Protocol).

    The tools are judge_case and explain_verdict.

    It talks over stdin and stdout to the client that started it. With --http it serves clients that connect to --host
    and --port.
    """
    from ..evals.service.mcp import serve_mcp

    _serve(partial(serve_mcp, http=http), rubric, jury, output, options)


def _serve(server: Command, rubric: str, jury: str, output: Path | str, options: dict[str, Any]) -> None:
    from ..evals.service.judging import ServiceConfig
    from ..personas import load_jury
    from ..rubrics import load_rubric

    (filled,) = filled_juries([load_jury(jury)], options.pop("model"), options.pop("base_url"))
    server(load_rubric(rubric), filled, output, ServiceConfig(**options), partial(say, err=True))
