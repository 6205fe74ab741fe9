"""Import format `helm`: folders of HELM's runs, read without helm."""

from __future__ import annotations

from pathlib import Path

from ..suites.helm_runs import load_helm
from .import_format import Item, ToolRecords
from .tool_scores import add_score

_RATER = "helm"


def read_helm(path: Path) -> ToolRecords:
    """Each instance of each run as an item, and HELM's main metric of it as a rating.

    Answers of several models to one instance have its id as their group. Where `path` holds one run, ids are HELM's own.
    """
    found = load_helm(path)
    records = ToolRecords(notes=list(found.notes))
    alone = len(found.runs) == 1
    for run in found.runs:
        for instance in dict.fromkeys((*run.outputs, *run.scores)):
            name = instance if alone else f"{run.scenario}/{run.system}/{instance}"
            output = run.outputs.get(instance, "")
            if not output.strip():
                records.skip("instances whose output is empty or was not kept", name)
                continue
            texts = {
                "output": output,
                "question": run.inputs.get(instance),
                "reference": "\n".join(run.targets.get(instance, ())),
                "system": run.system,
                "group": f"{run.scenario}/{instance}",
            }
            records.items.append(Item(name, {key: text for key, text in texts.items() if text}))
            if instance in run.scores:
                add_score(records, name, _RATER, run.metric, run.scores[instance])
    return records
