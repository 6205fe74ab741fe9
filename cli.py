"""The command line. Errors are handled once, in `main`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from types import FrameType
from typing import NoReturn

import click

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Start": {"demo": "running", "new": "starting", "import": "starting"},
    "Judge": {
        "run": "running",
        "sit": "rating",
        "status": "running",
        "merge": "running",
        "serve": "serving",
        "mcp": "serving",
    },
    "Read": {"show": "reading", "inspect": "reading", "claims": "claiming", "export": "reading"},
    "Ask what if": {"replay": "replaying", "pressure": "replaying"},
    "Compare with people": {
        "rate": "rating",
        "compare": "comparing",
        "agreement": "comparing",
        "calibrate": "certifying",
        "threshold": "claiming",
        "triage": "triaging",
    },
    "Act on the scores": {"estimate": "certifying", "certify": "certifying"},
    "Choose a jury": {"study": "studying", "dstudy": "studying", "facets": "studying"},
    "Measure systems": {
        "align": "measuring",
        "metrics": "measuring",
        "suite": "suites",
        "winrate": "measuring",
    },
    "Improve jurors": {"plant": "improving", "optimise": "improving", "train": "improving"},
    "Look things up": dict.fromkeys(
        ("rubrics", "personas", "juries", "protocols", "schema", "model", "doctor"), "libraries"
    ),
}
"""The commands by what the user wants, each with the file of `commands/` that has it."""
FILES = {name: file for commands in GROUPS.values() for name, file in commands.items()}


class _Commands(click.Group):
    """Imports a command's file when the command is called for; help lists the commands in groups, each in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(FILES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in FILES:
            return None
        file = import_module(f".commands.{FILES[cmd_name]}", __package__)
        command: click.Command = getattr(file, "import_" if cmd_name == "import" else cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, FILES))
        for title, names in GROUPS.items():
            commands = {name: self.get_command(ctx, name) for name in names}
            rows = [
                # The same column for every group.
                (f"{name:<{widest}}", command.get_short_help_str(formatter.width - widest - 6))
                for name, command in commands.items()
                if command is not None
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="venire")
def app() -> None:
    """Score model outputs with a jury of language models, and compare it with a single judge and with people.

    New here? `venire demo` shows everything. Then `venire run` has a jury judge your cases, `venire show` prints
    how it reached a score, and `venire inspect` opens the run in the browser.
    """


def main() -> None:
    """Deliberate errors become two lines and exit status 2; bugs keep a traceback, those of plug-ins apart. SIGTERM and SIGHUP end as Ctrl-C does."""
    signals = _signals_like_ctrl_c()
    try:
        app(standalone_mode=False)
    except click.ClickException as error:
        path = (
            error.ctx.command_path.rstrip() if isinstance(error, click.UsageError) and error.ctx else "venire"
        )
        _refuse(error.format_message().replace("\n", " "), f"{path} --help")
    except (click.Abort, KeyboardInterrupt) as stopped:
        click.echo(
            "stopped at once; everything that was committed is kept, and the same command resumes",
            err=True,
        )
        # Of an interrupt that came while a string was executed, as dataclasses do, Python remembers that nobody caught
        # it, and would end with SIGINT; executing another makes it forget.
        exec("")  # noqa: S102
        # click has an exception of its own for it, with ours as the cause.
        told = [each for each in (stopped.__cause__ or stopped).args if isinstance(each, int)]
        raise SystemExit(128 + [signal.SIGINT, *signals, *told][-1]) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
    except Exception as error:
        # Imported late: a plain --help must not pay for what only an error needs.
        from .rubrics.errors import VenireError, files_remedy

        if signals:
            # Whatever a library made of the interrupt.
            raise SystemExit(128 + signals[-1]) from None
        if isinstance(error, OSError) and (remedy := files_remedy("", error)):
            _refuse(error.strerror or type(error).__name__, remedy)
        if not isinstance(error, VenireError):
            from .rubrics.plugins import plugin_fault

            fault = plugin_fault(error)
            if fault is None:
                raise
            _refuse(fault.problem, fault.remedy)
        if not error.errors:
            _refuse(error.problem, error.remedy)
        click.secho(error.problem.partition("\n")[0], fg="red", err=True)
        for number, each in enumerate(error.errors, 1):
            _tell(f"{number}. {each.problem}", each.remedy)
        raise SystemExit(2) from None


def _signals_like_ctrl_c() -> list[int]:
    """Have SIGTERM and SIGHUP do from now on what Ctrl-C does; the list will hold those that came."""
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        handler = signal.getsignal(signal.SIGINT)
        # A background job of a script is started with Ctrl-C ignored.
        (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)

    for number in (signal.SIGTERM, signal.SIGHUP):
        # `nohup` has it ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    return came


def _refuse(problem: str, remedy: str) -> NoReturn:
    _tell(problem, remedy)
    raise SystemExit(2) from None


def _tell(problem: str, remedy: str) -> None:
    """The problem and its remedy on two lines, though either may quote a file of many."""
    from .rubrics.errors import safe

    first, second = (safe(words.replace("\n", " ")) for words in (problem, remedy))
    click.secho(first, fg="red", err=True)
    click.echo(f"  -> {second}", err=True)


if __name__ == "__main__":
    main()
