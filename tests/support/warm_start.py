"""What commands import, imported once: `command_line` forks each command from a process that has begun with this."""

from __future__ import annotations

import gc
from importlib import import_module

from venire.rubrics.plugins import registered_plugins

for _module in (
    *("agent_framework_orchestrations", "autogen_agentchat.teams", "pg8000"),
    *("venire.cli", "venire.evals.studies.study_report", "venire.orchestration.run_session"),
    "venire.evals.metrics.minilm",
    *("venire.orchestration.protocols.magentic_team", "venire.orchestration.protocols.magentic_workflow"),
    *("venire.evals.service.server", "venire.evals.rating.server"),
    *("venire.agents.clients.autogen_gateway", "venire.agents.clients.server", "venire.agents.clients.lens"),
):
    import_module(_module)
for _group in ("protocols", "counting", "executors", "coefficients", "audits"):
    for _plugin in registered_plugins(f"venire.{_group}").values():
        _plugin.load()
# A collection in a forked process would copy every page that it looks at.
gc.collect()
gc.freeze()
