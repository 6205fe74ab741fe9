"""What a plug-in may import, and what it may add. These names are stable: a test fails when one disappears.

A plug-in is a package with an entry point. Its group says what it adds; its name is the name that users type.

| adds | entry point group | the entry point names |
|---|---|---|
| a client: another kind of model | `venire.clients` | a function from `ModelSettings` to a `ModelClient`, or a `ClientFactory`; `NAME/...` in a seat's `model:` reaches it |
| a protocol, with options and prompts | `venire.protocols` | a `Protocol` |
| a counting rule | `venire.counting` | a `Rule` |
| a coefficient of agreement | `venire.coefficients` | a `Coefficient`, shown by `venire agreement` |
| an audit: a section of `venire compare` | `venire.audits` | an `Audit`: a function of an `AuditInput` and `Draws` that gives a `Section` |
| a metric of a text against its reference | `venire.metrics` | a `Metric`, shown by `venire compare` beside the arms |
| a scorer of a system's answers | `venire.scorers` | a `Scorer`: a function of the answers, their form and its options that gives a `CaseScore` each, for `score:` in a scenario |
| an export format | `venire.exports` | an `ExportFormat`: a function of an `ExportedRun` and a file, for `venire export --to NAME` |
| an import format | `venire.imports` | an `ImportFormat`: a function of a file that gives `ToolRecords`, for `venire import NAME` |
| an executor: where cases are heard | `venire.executors` | an `ExecutorFactory`, for `venire run --executor NAME` |
| rubrics | `venire.rubrics` | the `Path` of a folder of YAML files |
| personas | `venire.personas` | the `Path` of a folder of YAML files |
| juries | `venire.juries` | the `Path` of a folder of YAML files |
| studies | `venire.studies` | the `Path` of a folder of YAML files, their data beside them |

What venire brings itself is registered in the same way, in its `pyproject.toml`. `examples/plugin-package` is a whole
package; `docs/extending.md` walks through it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents.cost import Price
    from .agents.juror import Juror, Turn
    from .agents.model import Message, ModelFailure, Reply, Request, Subject, TransientFailure, Usage
    from .agents.model_client import ClientFactory, ModelClient
    from .agents.prompting import Brief, Prompts, Statement
    from .evals.agreement.coefficients import Coefficient, Setting
    from .evals.audits.audit import Audit, AuditInput
    from .evals.exchange.import_format import ImportFormat, Item, ToolRecords
    from .evals.metrics.metric import Metric
    from .evals.report.section import Section
    from .evals.statistics.draws import Bootstrap, Draws
    from .evals.statistics.estimate import Estimate, undefined
    from .evals.statistics.jackknife import FISHER, LOG, RATIO, RAW, SHARE, Jackknife
    from .evals.statistics.matrix import FloatArray, Matrix, matrix
    from .evals.statistics.weighted import Statistic
    from .evals.suites.scorer import (
        AnswerForm,
        CaseScore,
        GradedAnswer,
        Scorer,
        ScorerOptions,
    )
    from .orchestration.bench import Bench, Court, statements, together
    from .orchestration.counting.rule import Count, Counted, Rule, Tally, too_few
    from .orchestration.deliberate import deliberate_sync, hear
    from .orchestration.executors.executor import Executor, ExecutorFactory, ExecutorJob
    from .orchestration.protocols import Protocol
    from .orchestration.reading.export import ExportedRun, ExportFormat
    from .orchestration.stopping import (
        Condition,
        all_of,
        any_of,
        consensus_reached,
        hard_limits,
        limits_of,
        rounds,
        stable,
        turns,
    )
    from .orchestration.transcript import Entry, Standing, Stop, Transcript, entry_of
    from .orchestration.verdict import Outcome, Verdict
    from .personas.jury import Jury, ModelSettings, Seat
    from .personas.options import Limits, Options
    from .personas.persona import Persona
    from .rubrics.ballot import Abstention, Ballot, Vote
    from .rubrics.case import Case
    from .rubrics.errors import MissingExtra, VenireError
    from .rubrics.rubric import Attribute, Rubric
    from .rubrics.scale import NOT_APPLICABLE, Scale, Value

_HOMES = {
    # what is asked, who is asked, and what went wrong
    "rubrics.ballot": "Abstention Ballot Vote",
    "rubrics.case": "Case",
    "rubrics.errors": "MissingExtra VenireError",
    "rubrics.rubric": "Attribute Rubric",
    "rubrics.scale": "NOT_APPLICABLE Scale Value",
    "personas.jury": "Jury ModelSettings Seat",
    "personas.persona": "Persona",
    # a client
    "agents.model": "Message ModelFailure Reply Request Subject TransientFailure Usage",
    "agents.model_client": "ClientFactory ModelClient",
    "agents.cost": "Price",
    # a protocol
    "agents.juror": "Juror Turn",
    "agents.prompting": "Brief Prompts Statement",
    "personas.options": "Limits Options",
    "orchestration.bench": "Bench Court statements together",
    "orchestration.stopping": "Condition all_of any_of consensus_reached hard_limits limits_of rounds stable turns",
    "orchestration.protocols": "Protocol",
    "orchestration.transcript": "Entry Standing Stop Transcript entry_of",
    # a counting rule
    "orchestration.counting.rule": "Count Counted Rule Tally too_few",
    # a coefficient
    "evals.agreement.coefficients": "Coefficient Setting",
    "evals.statistics.jackknife": "FISHER Jackknife LOG RATIO RAW SHARE",
    "evals.statistics.weighted": "Statistic",
    "evals.statistics.estimate": "Estimate undefined",
    "evals.statistics.matrix": "FloatArray Matrix matrix",
    # an audit, a metric
    "evals.audits.audit": "Audit AuditInput",
    "evals.report.section": "Section",
    "evals.statistics.draws": "Bootstrap Draws",
    "evals.metrics.metric": "Metric",
    # a scorer
    "evals.suites.scorer": "AnswerForm CaseScore GradedAnswer Scorer ScorerOptions",
    # an import format, an export format, an executor
    "evals.exchange.import_format": "ImportFormat Item ToolRecords",
    "orchestration.reading.export": "ExportFormat ExportedRun",
    "orchestration.executors.executor": "Executor ExecutorFactory ExecutorJob",
    # to hear a case: in an executor, and in the tests of any plug-in
    "orchestration.deliberate": "deliberate_sync hear",
    "orchestration.verdict": "Outcome Verdict",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "FISHER",
    "LOG",
    "NOT_APPLICABLE",
    "RATIO",
    "RAW",
    "SHARE",
    "Abstention",
    "AnswerForm",
    "Attribute",
    "Audit",
    "AuditInput",
    "Ballot",
    "Bench",
    "Bootstrap",
    "Brief",
    "Case",
    "CaseScore",
    "ClientFactory",
    "Coefficient",
    "Condition",
    "Count",
    "Counted",
    "Court",
    "Draws",
    "Entry",
    "Estimate",
    "Executor",
    "ExecutorFactory",
    "ExecutorJob",
    "ExportFormat",
    "ExportedRun",
    "FloatArray",
    "GradedAnswer",
    "ImportFormat",
    "Item",
    "Jackknife",
    "Juror",
    "Jury",
    "Limits",
    "Matrix",
    "Message",
    "Metric",
    "MissingExtra",
    "ModelClient",
    "ModelFailure",
    "ModelSettings",
    "Options",
    "Outcome",
    "Persona",
    "Price",
    "Prompts",
    "Protocol",
    "Reply",
    "Request",
    "Rubric",
    "Rule",
    "Scale",
    "Scorer",
    "ScorerOptions",
    "Seat",
    "Section",
    "Setting",
    "Standing",
    "Statement",
    "Statistic",
    "Stop",
    "Subject",
    "Tally",
    "ToolRecords",
    "Transcript",
    "TransientFailure",
    "Turn",
    "Usage",
    "Value",
    "VenireError",
    "Verdict",
    "Vote",
    "all_of",
    "any_of",
    "consensus_reached",
    "deliberate_sync",
    "entry_of",
    "hard_limits",
    "hear",
    "limits_of",
    "matrix",
    "rounds",
    "stable",
    "statements",
    "together",
    "too_few",
    "turns",
    "undefined",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: a protocol does not wait for what only coefficients need."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __package__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
