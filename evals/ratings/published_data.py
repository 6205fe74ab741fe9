"""Readers of data that others published: judgements (any long table of them, LLMBar's, PandaLM's), and benchmarks' cases with `id`, `target` and what a prompt may name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml

from ...rubrics.case import PAIR_COLUMNS, Case
from ...rubrics.errors import InvalidFile
from ...rubrics.files import near_column, nearest, read_json
from ...rubrics.rows import cell_number, read_rows
from ...rubrics.rubric import Rubric, load_rubric
from .question import Question, rubric_questions

GIVEN, SWAPPED = "given", "swapped"
"""The values of a column `order`; the answers are those of the given order in both."""
REQUIRED = ("case", "juror", "attribute", "value")
NUMBERS = ("cost", "seconds")
COLUMNS = ("dataset", "item", "label", "model", "strategy", "winner_noswap", "winner_swap")
JUDGES = {"gpt-3.5": ("gpt35", "gpt35_reason"), "pandalm-7b": ("pandalm7b", "pandalm_reason")}
TEXTS = "texts"
"""The metadata of a case that holds its two texts apart."""
PEOPLE = ("annotator1", "annotator2", "annotator3")


@dataclass(frozen=True, slots=True)
class Recording:
    """Cases, what was asked of them, what jurors answered and what people did."""

    name: str
    rubric: Rubric
    cases: tuple[Case, ...]
    judgements: pd.DataFrame
    """`case`, `juror`, `attribute`, `value` (blank where nothing could be read), and as far as known `repeat`, `order`, `rationale`, `group`."""
    people: pd.DataFrame
    """`case`, `rater`, `attribute`, `value`."""

    @property
    def questions(self) -> Mapping[str, Question]:
        """By attribute, as `analyse` takes them."""
        return rubric_questions(self.rubric)

    def write(self, folder: Path) -> None:
        """`cases.jsonl`, `rubric.yaml`, `judgements.csv` and `people.csv`: what `venire run` and a study read.

        In a jury file the juror NAME is the seat `{model: "recorded/judgements.csv#NAME"}`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(case.as_row()) for case in self.cases]
        (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        rubric = self.rubric.model_dump(exclude_defaults=True)
        (folder / "rubric.yaml").write_text(yaml.safe_dump(rubric, sort_keys=False), encoding="utf-8")
        self.judgements.to_csv(folder / "judgements.csv", index=False)
        self.people.to_csv(folder / "people.csv", index=False)


def choice(name: str, anchors: Mapping[int, str], *, binary: bool) -> Rubric:
    """The rubric of a choice between two texts: one attribute, `better`."""
    return Rubric.model_validate(
        {
            "name": name,
            "version": 1,
            "scales": {"choice": {"level": "binary" if binary else "nominal", "anchors": dict(anchors)}},
            "attributes": [
                {
                    "name": "better",
                    "question": "Which text answers the instruction better?",
                    "scale": "choice",
                }
            ],
        }
    )


def both_texts(first: str, second: str) -> str:
    """Two texts as the one that is judged."""
    return f"Text 1:\n{first}\n\nText 2:\n{second}"


def load_judgements(path: str | Path) -> pd.DataFrame:
    """The judgements in `path`; a blank value stays, as an abstention.

    `value` holds numbers for an attribute whose every value is one, otherwise text. The optional columns `repeat`,
    `cost` and `seconds` are numbers; `order`, `group` (blank for a case without one) and `rationale` are kept as they are.

    Raises:
        InvalidFile: Whatever is wrong with the file, with the line where it is wrong.
    """
    file = Path(path)
    rows, numbers, line_by_key = [], list[float | None](), dict[tuple[str, ...], int]()
    for line, row in read_rows(file, required=REQUIRED):
        for column in REQUIRED:
            if column not in row:
                raise InvalidFile(
                    f"{file}:{line}: the column {column!r} is missing",
                    remedy=f"{near_column(column, row)}give the columns {','.join(REQUIRED)}",
                )
        place = f"{file}:{line}"
        repeat = _number(row.get("repeat") or 0, place, "repeat")
        key = (str(row["case"]), str(row["juror"]), str(row["attribute"]), f"{repeat:g}")
        if key in line_by_key:
            raise InvalidFile(
                f"{file}:{line}: {key[1]} judged {key[2]} of {key[0]} already on line {line_by_key[key]}",
                remedy="number the judgements in a column 'repeat'",
            )
        line_by_key[key] = line
        spent = {name: _number(row[name], place, name) for name in NUMBERS if row.get(name) not in (None, "")}
        value = row["value"]
        # Left a truth value, it would be read as the number 1 or 0, which no juror gave.
        answer = str(value).lower() if isinstance(value, bool) else value
        rows.append({**row, **spent, "value": answer, "repeat": int(repeat)})
        numbers.append(cell_number(answer, place))
    if not rows:
        raise InvalidFile(f"{file}: no judgements were found", remedy="write one row for each judgement")
    table = pd.DataFrame(rows).astype(dict.fromkeys(REQUIRED[:3], str))
    for name in NUMBERS:
        if name in table:
            table[name] = pd.to_numeric(table[name], errors="coerce")
    if "group" in table:
        table["group"] = table["group"].replace("", None)
    table["value"] = table["value"].replace("", None).astype(object)
    read = pd.Series(numbers, table.index, dtype=float)
    for _, part in table.groupby("attribute"):
        values = pd.to_numeric(read[part.index], downcast="integer")
        if (values.notna() == part["value"].notna()).all():
            table.loc[part.index, "value"] = values.astype(object)
    return table


def _number(value: object, place: str, column: str) -> float:
    number = cell_number(value, place)
    if number is None:
        raise InvalidFile(
            f"{place}: {column} is {value!r}, which is not a number",
            remedy="write a number, or leave the cell blank",
        )
    return number


def as_pairs(recording: Recording) -> Recording:
    """The recording as cases to run: pairs under the rubric `preference`, the answers -1, 0 and 1 for the first, neither and the second."""
    rubric = load_rubric("preference")
    (attribute,) = rubric.names

    def with_numbers(table: pd.DataFrame) -> pd.DataFrame:
        value = table["value"].map({1: -1, 0: 0, 2: 1})
        return table.assign(attribute=attribute, value=value.astype("Int64"))

    cases = [
        Case.from_row(
            {"id": case.id, "question": case.question, "group": case.group}
            | dict(zip(PAIR_COLUMNS, case.metadata[TEXTS], strict=True))
        )
        for case in recording.cases
    ]
    return Recording(
        recording.name,
        rubric,
        tuple(cases),
        with_numbers(recording.judgements),
        with_numbers(recording.people),
    )


def llmbar(folder: str | Path, *, subset: str | None = "LLMBar") -> Recording:
    """The items whose data set is `subset` or begins with it, or all of them: LLMBar has 419, judged by 65 evaluators.

    A juror is a model with a way to ask it, as in `GPT-4/Vanilla`. `repeat` 0 has the outputs as given, 1 exchanged;
    answers are always those of the given order. What the authors could not read is blank: an abstention. Their
    accuracy, the mean over both orders of answers that equal the label, counts it as a miss, and so does `analyse`.

    Args:
        folder: Where `judgements.csv` and, for the texts of the cases, `items.json` are.
    """
    file = Path(folder) / "judgements.csv"
    if not file.is_file():
        raise InvalidFile(
            f"{file}: no such file", remedy="name the folder that holds LLMBar's judgements.csv"
        )
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    lost = [name for name in COLUMNS if name not in table]
    if lost:
        raise InvalidFile(
            f"{file}: the column {lost[0]!r} is missing", remedy=f"give the columns {','.join(COLUMNS)}"
        )
    if subset is not None:
        table = table[(table["dataset"] == subset) | table["dataset"].str.startswith(f"{subset}/")]
    if table.empty:
        raise InvalidFile(
            f"{file}: there is no data set named {subset!r}",
            remedy="use one of the names in the column dataset",
        )
    case = table["dataset"] + "/" + table["item"]
    orders = [
        pd.DataFrame(
            {
                "case": case,
                "juror": table["model"] + "/" + table["strategy"],
                "attribute": "better",
                "value": pd.to_numeric(table[column]),
                "repeat": repeat,
                "order": order,
            }
        )
        for repeat, (order, column) in enumerate({GIVEN: "winner_noswap", SWAPPED: "winner_swap"}.items())
    ]
    labels = pd.DataFrame({"case": case, "value": pd.to_numeric(table["label"])}).drop_duplicates()
    return Recording(
        name="llmbar",
        rubric=choice("llmbar", {1: "the first text", 2: "the second text"}, binary=True),
        cases=_cases(Path(folder) / "items.json", set(case)),
        judgements=pd.concat(orders, ignore_index=True),
        people=labels.assign(rater="label", attribute="better")[["case", "rater", "attribute", "value"]],
    )


def _cases(file: Path, ids: set[str]) -> tuple[Case, ...]:
    """The texts, where they are there: compositions need none."""
    if not file.is_file():
        return ()
    items = json.loads(file.read_text(encoding="utf-8"))
    return tuple(
        Case(
            id=f"{entry['dataset']}/{entry['item']}",
            question=entry["input"],
            output=both_texts(entry["output_1"], entry["output_2"]),
            metadata={TEXTS: (entry["output_1"], entry["output_2"])},
        )
        for entry in items
        if f"{entry['dataset']}/{entry['item']}" in ids
    )


def pandalm(folder: str | Path, *, unreadable: Literal["abstain", "tie"] = "abstain") -> Recording:
    """The pairs, grouped by instruction: answers to one instruction are drawn together.

    Args:
        folder: Where `testset_v1_with_judges.csv` is.
        unreadable: What GPT-3.5's 25 unreadable answers are. The published accuracy counts them as ties.
    """
    file = Path(folder) / "testset_v1_with_judges.csv"
    if not file.is_file():
        raise InvalidFile(f"{file}: no such file", remedy="name the folder that holds PandaLM's test set")
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    group = pd.Series(table.groupby(["instruction", "input"], sort=False).ngroup().astype(str))
    words = {"0": 0, "Tie": 0, "1": 1, "2": 2} | ({"garbage": 0} if unreadable == "tie" else {})
    tables = [
        pd.DataFrame(
            {
                "case": table["idx"],
                "juror": name,
                "attribute": "better",
                "value": table[answer].map(words),
                "rationale": table[reason],
                "group": group,
            }
        )
        for name, (answer, reason) in JUDGES.items()
    ]
    ratings = table.melt(id_vars="idx", value_vars=list(PEOPLE), var_name="rater", value_name="value")
    return Recording(
        name="pandalm",
        rubric=choice("pandalm", {0: "neither", 1: "the first text", 2: "the second text"}, binary=False),
        cases=tuple(
            Case(
                id=row["idx"],
                question="\n\n".join(filter(None, (row["instruction"], row["input"]))),
                output=both_texts(row["response1"], row["response2"]),
                group=instruction,
                metadata={TEXTS: (row["response1"], row["response2"])},
            )
            for row, instruction in zip(table.to_dict("records"), group, strict=True)
        ),
        judgements=pd.concat(tables, ignore_index=True),
        people=ratings.rename(columns={"idx": "case"}).assign(
            attribute="better", value=pd.to_numeric(ratings["value"])
        )[["case", "rater", "attribute", "value"]],
    )


Row = dict[str, Any]
CaseReader = Callable[[Path, str], Iterator[Row]]
"""From a published file, and which part of it is wanted, to rows."""


def pubmedqa(file: Path, part: str) -> Iterator[Row]:
    """PubMedQA's labelled questions (Jin et al., 2019); the test split alone where `test_ground_truth.json` lies beside them."""
    split = file.with_name("test_ground_truth.json")
    test_ids = _object(split) if split.is_file() else None
    for name, entry in _object(file).items():
        if test_ids is None or name in test_ids:
            yield {
                "id": str(name),
                "question": _field(file, entry, "QUESTION"),
                "context": "\n\n".join(map(str, _field(file, entry, "CONTEXTS"))),
                "target": _field(file, entry, "final_decision"),
            }


def medec(file: Path, part: str) -> Iterator[Row]:
    """MEDEC's clinical texts with one planted error or none (Ben Abacha et al., 2024); its blank rows are left out."""
    for line, row in read_rows(file, required=("Text ID", "Text", "Error Flag")):
        if not str(row.get("Text ID") or "").strip():
            continue
        flag = str(row.get("Error Flag") or "").strip()
        if flag not in ("0", "1"):
            raise InvalidFile(
                f"{file}:{line}: the column 'Error Flag' holds {flag!r}",
                remedy="write 0 for a correct text, and 1 for a text with an error",
            )
        yield {
            "id": str(row["Text ID"]),
            "text": str(row["Text"]),
            "target": "error" if flag == "1" else "correct",
        }


def aci_bench(file: Path, part: str) -> Iterator[Row]:
    """ACI-Bench's encounters (Yim et al., 2023): the dialogue, and the note as what is right; the id is the encounter's."""
    for encounter in _field(file, _object(file), "data"):
        name = str(_field(file, encounter, "file"))
        yield {
            "id": name.partition("-")[0],
            "dialogue": str(_field(file, encounter, "src")),
            "target": str(_field(file, encounter, "tgt")),
            "setting": name.partition("-")[2],
        }


def mts_dialog(file: Path, part: str) -> Iterator[Row]:
    """MTS-Dialog's short dialogues (Ben Abacha et al., 2023), with the section of the note that a clinician wrote."""
    for _, row in read_rows(file, required=("ID", "section_header", "section_text", "dialogue")):
        yield {
            "id": str(row["ID"]),
            "section": str(row["section_header"]),
            "dialogue": str(row["dialogue"]),
            "target": str(row["section_text"]),
        }


def medagents(file: Path, part: str) -> Iterator[Row]:
    """The hard questions of one of MedAgentsBench's seven sets (Tang et al., 2025), by the number that its predictions name."""
    items = read_json(file)
    sets = sorted({str(_field(file, entry, "dataset")) for entry in items})
    if part not in sets:
        raise InvalidFile(f"{file}: the file has no set {part!r}", remedy=nearest(part, sets))
    for entry in items:
        if entry["dataset"] == part:
            yield {
                "id": str(_field(file, entry, "qid")),
                "question": str(_field(file, entry, "question")).strip(),
                "options": _field(file, entry, "options"),
                "target": _field(file, entry, "answer_idx"),
            }


READERS: Mapping[str, CaseReader] = {
    "pubmedqa": pubmedqa,
    "medec": medec,
    "aci-bench": aci_bench,
    "mts-dialog": mts_dialog,
    "medagents": medagents,
}


def _object(file: Path) -> Mapping[str, Any]:
    document = read_json(file)
    if not isinstance(document, Mapping):
        raise InvalidFile(
            f"{file}: this is not a JSON object", remedy="use the original published file, unchanged"
        )
    return document


def _field(file: Path, entry: Any, name: str) -> Any:
    if not isinstance(entry, Mapping) or name not in entry:
        hint = near_column(name, entry) if isinstance(entry, Mapping) else ""
        raise InvalidFile(
            f"{file}: an item has no {name!r}", remedy=f"{hint}use the original published file, unchanged"
        )
    return entry[name]
