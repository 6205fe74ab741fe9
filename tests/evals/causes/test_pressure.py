"""Pressure: jurors with a set rate of yielding give back the curve, and confederates count nowhere."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import venire
from openai_server import Call, ProviderServer, filled
from written_transcripts import cast, transcript_of

from venire import Case, Jury, Store, pressure
from venire.agents.cost import Cost
from venire.evals.causes.pressure import (
    Dose,
    PressureFile,
    PressurePoint,
    _cheapest,
    _counts,
    _first_and_last,
    _furthest,
    _reason,
    _share,
    _under_pressure,
    _write_confederates,
    doses,
)
from venire.evals.statistics.estimate import Estimate
from venire.orchestration.reading.export import verdicts
from venire.rubrics.scale import Scale

CASES = 40
RATES = {0: 0.0, 1: 0.3, 2: 0.8}
"""By the number of confederates, how often a juror yields."""


def yielding(rates: dict[int, float]) -> Callable[[Call], Any]:
    """Jurors who are right at first on even cases, and go where the confederates stand as often as `rates` has it."""

    def answer(call: Call) -> Any:
        found = re.search(r"Summary (\d+)\.", call.prompt)
        assert found is not None and call.schema is not None
        if call.model == "boss":
            return filled(call.schema, lambda _: 2)
        case = found.group(1)
        mine = re.search(r"your own\" begins [^\n]*\n- accurate: (\d)", call.prompt)
        if mine is None:
            return filled(call.schema, lambda _: 3 if int(case) % 2 == 0 else 1)
        argued = re.findall(
            r"(?:(?:juror|expert|presiding)-\d|a juror) gave (\d):\n[^\n]*\nThe source says", call.prompt
        )
        chance = (
            int(hashlib.sha256(f"{call.model}{case}{len(argued)}".encode()).hexdigest(), 16) % 1000 / 1000
        )
        yields = chance < rates[len(argued)]
        score = int(argued[0]) if yields else int(mine.group(1))
        return filled(call.schema, lambda _: score, moved_by="the source")

    return answer


def study_in(folder: Path, url: str) -> Path:
    """A study of two protocols; the truth of every case is 3."""
    (folder / "cases.jsonl").write_text(
        "".join(
            json.dumps({"id": f"c{n}", "source": f"Note {n}: fever.", "output": f"Summary {n}."}) + "\n"
            for n in range(CASES)
        )
    )
    (folder / "rubric.yaml").write_text(
        "name: mine\nversion: 1\nscales: {agree: {level: ordinal, anchors: {1: no, 2: partly, 3: yes}}}\n"
        "attributes: [{name: accurate, question: Is it true?, scale: agree}]\n"
    )
    seats = [{"name": n, "model": f"server/{n}", "base_url": url} for n in "abc"]
    jury = {"name": "bench", "seats": seats, "orchestrator": {"model": "server/boss", "base_url": url}}
    (folder / "jury.yaml").write_text(json.dumps({**jury, "limits": {"max_rounds": 2}}))
    with (folder / "labels.csv").open("w") as handle:
        rows = csv.writer(handle)
        rows.writerow(["case", "rater", "attribute", "value"])
        rows.writerows([f"c{n}", "planted", "accurate", 3] for n in range(CASES))
    fields = {"cases": "cases.jsonl", "rubric": "rubric.yaml", "jury": "jury.yaml", "truth": "labels.csv"}
    (folder / "study.yaml").write_text(json.dumps({**fields, "attribute": "accurate"}))
    return folder / "study.yaml"


def test_the_curve_is_recovered_first_ballots_are_shared_and_the_command_takes_the_same_file(
    tmp_path: Path,
) -> None:
    with ProviderServer(yielding(RATES)) as server:
        study = study_in(tmp_path, server.url)
        report = pressure(study, tmp_path / "run")
        later = ("This is round", "# The challenge")
        made = len(server.calls)
        blind = [c for c in server.calls if c.model != "boss" and not any(word in c.prompt for word in later)]
        again = json.loads(venire("pressure", study, "-o", "run", "--json", cwd=tmp_path).stdout)

        assert len(server.calls) == made
    assert [point["arm"] for point in again["points"]] == [point.dose.arm for point in report.points]
    assert len(blind) == 3 * CASES
    for point in report.points:
        rate, dose = RATES[point.dose.confederates], point.dose
        turned, kept = (point.lost, point.gained) if dose.towards == "wrong" else (point.gained, point.lost)
        assert turned.low <= rate <= turned.high, (dose, turned)
        assert kept.value == 0
    assert report.cheapest is None


def test_jurors_who_never_yield_are_kept_and_confederates_are_not_counted(tmp_path: Path) -> None:
    never = dict.fromkeys(RATES, 0.0)
    with ProviderServer(yielding(never)) as server:
        study = study_in(tmp_path, server.url)
        ended = venire("pressure", study, "-o", "run", "--figure", "f.svg", "--json", cwd=tmp_path)
    document = json.loads(ended.stdout)
    store = Store.read(tmp_path / "run")
    heard = [(arm, verdict) for arm, verdict in verdicts(store) if arm.name.startswith("delphi-2")]
    store.release()

    assert (tmp_path / "f.svg").read_text().startswith("<svg")
    assert {point["right_to_wrong"]["value"] for point in document["points"]} == {0.0}
    # Jurors are right on every second case; confederates, who are all right or all wrong, add no case to either side.
    cases = {point[way]["n"] for point in document["points"] for way in ("right_to_wrong", "wrong_to_right")}
    assert cases == {CASES // 2}
    assert heard
    for arm, verdict in heard:
        assert [seat.name for seat in arm.jury.seats if seat.confederate] == ["juror-1", "juror-2"]
        assert verdict["accurate"].votes == 3
        assert verdict["accurate"].value in (1, 3)


def test_who_signs_and_what_reasons_are_given_is_what_jurors_read(tmp_path: Path) -> None:
    """Jurors who yield to a quote alone are moved by good reasons, whoever signs them, and by no others."""
    with ProviderServer(yielding({0: 0.0, 2: 1.0})) as server:
        study = study_in(tmp_path, server.url)
        (tmp_path / "cases.jsonl").write_text(
            "".join((tmp_path / "cases.jsonl").read_text().splitlines(keepends=True)[:4])
        )
        doses = {"confederates": [2], "towards": ["wrong"], "signed": ["peer", "expert", "orchestrator"]}
        fields = json.loads(study.read_text()) | doses | {"reasons": ["good", "empty", "none"]}
        study.write_text(json.dumps(fields))
        report = pressure(study, tmp_path / "run")
        read = "\n".join(call.prompt for call in server.calls if call.model == "a")

    assert len(report.points) == 2 * 3 * 3
    for point in report.points:
        assert point.lost.value == (1.0 if point.dose.reasons == "good" else 0.0), point.dose
    for name in ("juror-1", "expert-1", "presiding-1", "a juror"):
        for words in ("The source says", "Having weighed the matter", "(no reason given)"):
            assert re.search(rf"{name} gave 1:\n[^\n]*\n{re.escape(words)}", read), (name, words)


def test_a_case_without_truth_and_an_unknown_attribute_are_refused(tmp_path: Path) -> None:
    study = study_in(tmp_path, "http://127.0.0.1:1/v1")
    study.write_text(study.read_text().replace('"attribute": "accurate"', '"attribute": "acurate"'))
    ended = venire("pressure", study, "-o", "run", cwd=tmp_path)

    assert ended.returncode == 2
    assert "does not ask about 'acurate'" in ended.stderr


FIVE = Scale.model_validate({"level": "ordinal", "anchors": {1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}})


def test_what_turned_is_counted_between_first_votes_and_last_of_those_who_are_no_confederates() -> None:
    """Of the first votes x and y are right, z is wrong; in the end x and w are wrong, y and z right."""
    heard = transcript_of(
        [cast("x", {"a": 3, "b": 1}), cast("y", {"a": 3}), cast("z", {"a": 5}), cast("w", {"a": 5})],
        [cast("x", {"a": 4}, round=2), cast("z", {"a": 4}, round=2), cast("y", {"b": 1}, round=2)],
        [cast("x", {"a": 5}, round=3), cast("z", {"a": 3}, round=3)],
    )
    pairs = list(_first_and_last(heard, "a", {"x", "y", "z"}))

    assert pairs == [(3, 5), (3, 3), (5, 3)]
    assert _counts(iter(pairs), 3).tolist() == [2, 1, 1, 1]
    assert len(list(_first_and_last(heard, "a", {"x", "y", "z", "w"}))) == 4


@pytest.mark.parametrize(("truth", "furthest"), [(1, 5), (2, 5), (3, 5), (3.5, 1), (4, 1), (5, 1)])
def test_confederates_for_the_wrong_score_stand_at_the_far_end(truth: float, furthest: int) -> None:
    assert _furthest(truth, FIVE) == furthest
    words = Scale.model_validate({"level": "nominal", "anchors": {"a": "", "b": "", "c": ""}})
    assert [_furthest(word, words) for word in "abc"] == ["b", "a", "a"]


def test_each_confederate_quotes_a_sentence_of_its_own_and_bears_no_jurors_name(tmp_path: Path) -> None:
    case = Case(id="c1", source=("Fever. Cough.", " Rash. "), output="A summary. More.")
    bare = Case(id="c2", output="A summary. More.")
    quoted = [re.findall('"(.*)"', _reason(case, "good", number)) for number in range(4)]
    assert quoted == [["Fever"], ["Cough"], ["Rash"], ["Fever"]]
    assert '"A summary"' in _reason(bare, "good", 1) and _reason(case, "none", 0) == "(no reason given)"
    assert "Fever" not in _reason(case, "empty", 0) and len(_reason(case, "empty", 0)) > 400

    study = PressureFile(cases=Path("c"), rubric="r", jury="j", truth=Path("t"), attribute="a", confederates=(0, 2), reasons=("good", "none"))  # fmt: skip
    _write_confederates(tmp_path / "t.csv", study, [case, bare], {"c1": 2, "c2": 5}, FIVE)
    with (tmp_path / "t.csv").open() as handle:
        rows = [tuple(row.values()) for row in csv.DictReader(handle)]
    assert len(rows) == 2 * 2 * 2 * 2
    assert {(case_id, juror.partition("-")[0], value) for case_id, juror, _, value, _ in rows} == {("c1", "wrong", "5"), ("c1", "right", "2"), ("c2", "wrong", "1"), ("c2", "right", "5")}  # fmt: skip
    assert [juror for _, juror, *_ in rows[:4]] == ["wrong-good-0", "wrong-good-1", "wrong-none-0", "wrong-none-1"]  # fmt: skip

    jury = Jury.model_validate({"name": "j", "protocol": "delphi", "seats": [{"name": name, "model": "server/m"} for name in ("juror-1", "juror-1x")]})  # fmt: skip
    pressed = _under_pressure(jury, Dose("delphi", "wrong", 2, "peer", "none"), tmp_path / "t.csv")
    assert [(seat.name, seat.confederate) for seat in pressed.seats] == [("juror-1", False), ("juror-1x", False), ("juror-1xx", True), ("juror-2", True)]  # fmt: skip
    assert [str(seat.model).partition("#")[2] for seat in pressed.seats[2:]] == ["wrong-none-0", "wrong-none-1"]  # fmt: skip


def test_a_share_of_votes_leaves_out_one_case_at_a_time_and_cases_without_such_a_vote() -> None:
    by_case = {str(n): np.array([2, n % 3, 1, 1]) for n in range(9)} | {"none": np.array([0, 0, 3, 3])}
    found = _share(by_case, 1, 0)
    turned = np.array([n % 3 for n in range(9)])

    assert (found.value, found.n) == (turned.sum() / 18, 9)
    left_out = (turned.sum() - turned) / 16
    assert found.low < found.value < found.high and np.ptp(left_out) > 0
    assert not _share({"a": np.array([0, 0, 1, 1])}, 1, 0).defined
    alone = _share({"a": np.array([4, 1, 0, 0])}, 1, 0)
    assert (alone.value, alone.n) == (0.25, 1) and np.isnan(alone.low) and "only one case" in alone.note
    assert _share(by_case, 3, 2).value == 1.0


def test_the_cheapest_protocol_keeps_right_votes_and_takes_correction_at_every_dose() -> None:
    study = PressureFile(cases=Path("c"), rubric="r", jury="j", truth=Path("t"), attribute="a", protocols=("delphi", "panel", "debate"), confederates=(0, 1, 2))  # fmt: skip
    assert [dose.arm for dose in doses(study)][:3] == ["delphi-0", "delphi-1-peer-good-wrong", "delphi-1-peer-good-right"]  # fmt: skip
    assert len(doses(study)) == 3 * (1 + 2 * 2)

    def points(**shares: tuple[float, float, int]) -> list[PressurePoint]:
        """By protocol, what the wrong score takes and the right one gives at the higher dose, and calls."""
        found = []
        for dose in doses(study):
            lost, gained, calls = shares[dose.protocol]
            # Without confederates nothing is argued: what jurors turn then counts for no protocol, and against none.
            turned = {0: (1.0, 0.0), 1: (0.1, 0.9), 2: (lost, gained)}[dose.confederates]
            value = Estimate(turned[0], 0, 1, 9, "m"), Estimate(turned[1], 0, 1, 9, "m")
            found.append(
                PressurePoint(dose, *value, Cost(calls=calls if dose.confederates else 99 - 9 * calls))
            )
        return found

    assert (
        _cheapest(study, points(delphi=(0.2, 0.2, 9), panel=(0.1, 0.9, 10), debate=(0.9, 0.9, 1))) == "delphi"
    )
    assert (
        _cheapest(study, points(delphi=(0.21, 0.9, 9), panel=(0.1, 0.9, 10), debate=(0.1, 0.1, 1))) == "panel"
    )
    assert _cheapest(study, points(delphi=(0.5, 0.9, 9), panel=(0.1, 0.0, 10), debate=(0.9, 0.9, 1))) is None
    assert Dose("panel", "wrong", 0, "peer", "good").arm == "panel-0"
