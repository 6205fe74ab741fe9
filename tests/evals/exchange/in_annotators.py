"""Run by the environment that has Label Studio's and Argilla's packages: reads what lies in the folder, prints counts."""

import json
import sys
from pathlib import Path
from unittest.mock import MagicMock


def label_studio() -> dict[str, int]:
    """Holds every task, prediction and annotation against the labelling interface."""
    from label_studio_sdk.label_interface import LabelInterface

    interface = LabelInterface(Path("config.xml").read_text())
    interface.validate()
    tasks = json.loads(Path("tasks.json").read_text())
    predictions = [each for task in tasks for each in task["predictions"]]
    annotations = [each for task in tasks for each in task.get("annotations", ())]
    wrong = [task for task in tasks if not interface.validate_task({"data": task["data"]})]
    wrong += [each for each in predictions if interface.validate_prediction(each, return_errors=True)]
    wrong += [each for each in annotations if not interface.validate_annotation(each)]
    return {"tasks": len(tasks), "predictions": len(predictions), "annotations": len(annotations), "wrong": len(wrong)}  # fmt: skip


def argilla() -> dict[str, int]:
    """Reads the settings and the records as Argilla does, and writes the records again, as it would, to `back.json`."""
    from argilla import Argilla, Settings
    from argilla.records._io import JsonIO

    # Settings want a client before they are read, and would look for a server.
    Argilla._default_client = MagicMock()
    settings = Settings.from_json("settings.json")
    records = JsonIO._records_from_json("records.json")
    JsonIO.to_json(records, "back.json")
    questions = {question.name: question for question in settings.questions}
    answers = [each for record in records for each in (*record.responses, *record.suggestions)]
    wrong = [each for each in answers if each.question_name not in questions]
    for each in answers:
        values = getattr(questions[each.question_name], "values", None)
        wrong += [each] if values is not None and each.value not in values else []
    wrong += [record for record in records if set(record.fields) - {field.name for field in settings.fields}]
    suggestions = sum(len(list(record.suggestions)) for record in records)
    return {"records": len(records), "suggestions": suggestions, "responses": sum(len(record.responses) for record in records), "wrong": len(wrong)}  # fmt: skip


print(json.dumps({"label_studio": label_studio, "argilla": argilla}[sys.argv[1]]()))
