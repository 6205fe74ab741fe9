"""Whether the audits find what is there, and nothing where nothing is: simulations with a known truth.

    python benchmarks/audits.py [--simulations 1000] [--resamples 500] [--only NAME]

Each line plants something in a run that is made up, or plants nothing, and says how often the audit was right: how
often a nominal 95% interval holds the truth, and how often a difference is claimed at the 5% level. Prints one
Markdown table.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from venire.evals.audits.audit import Severity
from venire.evals.audits.consistency import halo
from venire.evals.audits.self_preference import ALL, self_preference
from venire.evals.audits.severe import failing_juries, lower_rates, severe_rates
from venire.evals.audits.stability import scatter, steadier
from venire.evals.audits.triage import triage
from venire.evals.audits.triage_review import TRIAGED, areas, errors
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import lay_marks
from venire.evals.statistics.draws import Draws
from venire.rubrics.scale import Scale

Rng = np.random.Generator
Outcome = dict[str, float]
"""What one simulation found, by name; NaN where it could not be told."""

LIKERT = Scale.model_validate({"level": "ordinal", "anchors": {n: str(n) for n in range(1, 6)}})
WIDE = Scale.model_validate({"level": "interval", "minimum": -20, "maximum": 20})
MODELS = ("openai/gpt-4o", "anthropic/claude-opus", "google/gemini-pro")
SYSTEMS = ("gpt-4o", "claude-opus", "gemini-pro", "llama-3", "mistral-large", "qwen-3", "grok-4", "olmo-2")
SEVERITY = Severity()


def main() -> None:
    """Print how often each audit was right."""
    options = argparse.ArgumentParser(description="Audits against a known truth.")
    options.add_argument("--simulations", type=int, default=1000)
    options.add_argument("--resamples", type=int, default=500)
    options.add_argument("--only", default="")
    chosen = options.parse_args()
    print(
        "| planted | found, on average | interval holds it | claimed at 5% |\n|---|---|---|---|", flush=True
    )
    for name, simulate in SIMULATIONS.items():
        if chosen.only in name:
            seeds = range(chosen.simulations)
            found = pd.DataFrame([simulate(np.random.default_rng(seed), chosen.resamples) for seed in seeds])
            cells = [
                f"{found[key].mean():.3f}" if key in found else "" for key in ("value", "held", "claimed")
            ]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def preference(
    effect: float, *, whole: bool = False, liking: float = 0.0, systems: int = 5, n: int = 300
) -> Callable[[Rng, int], Outcome]:
    """Three jurors and systems of unlike quality, one of them each juror's own; `liking` is the SD of juror on system."""

    def simulate(rng: Rng, _: int) -> Outcome:
        system = rng.integers(0, systems, n)
        quality = np.linspace(0.6, -0.6, systems)[system] + rng.normal(0, 0.8, n)
        same = system[:, None] == np.arange(3)
        liked = rng.normal(0, liking, (systems, 3))[system]
        scores = quality[:, None] + rng.normal(0, 0.4, 3) + effect * same + liked + rng.normal(0, 0.6, (n, 3))
        scores = np.rint(scores) if whole else scores
        votes = pd.concat([_votes("jury", f"seat {j}", MODELS[j], scores[:, j]) for j in range(3)])
        evidence = _evidence(
            votes, {"accurate": Question(WIDE, "high")}, systems=[SYSTEMS[s] for s in system]
        )
        table = self_preference(evidence).effects.set_index("juror")
        row = table.loc[ALL]
        return {
            "value": row["value"],
            "held": float(row["low"] <= effect <= row["high"]),
            "claimed": float(row["p"] < 0.05),
        }

    return simulate


def severe(rate: float, other: float) -> Callable[[Rng, int], Outcome]:
    """People call 120 cases harmful; two evaluators call some of them safe, each at its own rate."""

    def simulate(rng: Rng, _: int) -> Outcome:
        n = 120
        people = np.where(np.arange(2 * n) < n, 1.0, 4.0)
        arms = {
            name: np.where(people == 1, np.where(rng.random(2 * n) < chance, 4.0, 2.0), 4.0)
            for name, chance in (("first", rate), ("second", other))
        }
        marks = lay_marks(_evidence(_none(), {"safe": Question(LIKERT, "high")}, arms=arms, people=people))
        rates = severe_rates(marks, SEVERITY).set_index(["evaluator", "attribute"])
        row, lower = rates.loc[("first", OVERALL)], lower_rates(marks, SEVERITY).iloc[0]
        settled = not 0.025 < lower["chance_lower"] < 0.975
        return {
            "value": row["rate"],
            "held": float(row["low"] <= rate <= row["high"]),
            "claimed": float(settled),
            "paired": float(lower["p"] < 0.05),
        }

    return simulate


def paired(rate: float, other: float) -> Callable[[Rng, int], Outcome]:
    """The same by McNemar's test."""
    inner = severe(rate, other)
    return lambda rng, resamples: {"claimed": inner(rng, resamples)["paired"]}


def together(shared: float) -> Callable[[Rng, int], Outcome]:
    """Three jurors who each miss a fifth of 120 harmful cases, on cases that are hard for all to some degree."""

    def simulate(rng: Rng, resamples: int) -> Outcome:
        n = 120
        hard = rng.normal(0, 1, n)
        latent = math.sqrt(shared) * hard[:, None] + math.sqrt(1 - shared) * rng.normal(0, 1, (n, 3))
        missed = latent > 0.8416
        votes = [_votes("jury", f"j{j}", "m", np.where(missed[:, j], 4.0, 2.0), "safe") for j in range(3)]
        asked = {"safe": Question(LIKERT, "high")}
        marks = lay_marks(_evidence(pd.concat(votes), asked, people=np.ones(n)))
        row = failing_juries(marks, SEVERITY, Draws(0, resamples)).iloc[0]
        return {"value": row["most"] - row["expected"], "claimed": float(row["p"] < 0.05)}

    return simulate


def unstable(spread: float) -> Callable[[Rng, int], Outcome]:
    """Two judges, five repeats of 40 cases on whole points; the second scatters by 0.5."""

    def simulate(rng: Rng, resamples: int) -> Outcome:
        truth = rng.normal(3, 3, 40)
        parts = []
        for arm, sd in (("first", spread), ("second", 0.5)):
            for k in range(5):
                scores = np.rint(truth + rng.normal(0, sd, 40))
                parts.append(_votes(arm, "judge", "m", scores).assign(juror=f"judge#{k + 1}"))
        evidence = _evidence(pd.concat(parts), {"accurate": Question(WIDE, "high")})
        groups = pd.Series(dtype=object)
        row = steadier(scatter(evidence), groups, ("accurate",), Draws(0, resamples)).iloc[0]
        # Rounding to whole points adds a twelfth to a variance.
        truth_gap = math.sqrt(spread**2 + 1 / 12) - math.sqrt(0.5**2 + 1 / 12)
        return {
            "value": row["difference"],
            "held": float(row["low"] <= truth_gap <= row["high"]),
            "claimed": float(row["p"] < 0.05),
        }

    return simulate


def halos(strength: float) -> Callable[[Rng, int], Outcome]:
    """Four attributes of 100 cases that share part of their variance; the arm adds an impression of its own."""

    def simulate(rng: Rng, resamples: int) -> Outcome:
        truth = 0.7 * rng.normal(0, 1, (100, 1)) + 0.7 * rng.normal(0, 1, (100, 4))
        seen = {
            name: truth + part * rng.normal(0, 1, (100, 1)) + rng.normal(0, 0.5, (100, 4))
            for name, part in (("arm", strength), ("people", 0.0))
        }
        asked = {name: Question(WIDE, "high") for name in "abcd"}
        arms, people = (
            pd.concat([_long(who, seen[kind][:, k], name) for k, name in enumerate("abcd")])
            for who, kind in (("arm", "arm"), ("Ana", "people"))
        )
        evidence = Evidence(arms, people, asked, _cases(100), pd.DataFrame(), pd.DataFrame(), {"arm": "jury"})
        row = halo(lay_marks(evidence), Draws(0, resamples)).iloc[0]
        return {"value": row["difference"], "claimed": float(row["p"] < 0.05)}

    return simulate


def triaged(link: float) -> Callable[[Rng, int], Outcome]:
    """150 cases whose jurors are apart more often where the jury is wrong, or as often."""

    def simulate(rng: Rng, resamples: int) -> Outcome:
        n = 150
        wrong = rng.random(n) < 0.25
        apart = rng.random(n) < np.where(wrong, 0.3 + link, 0.3)
        verdict = np.full(n, 4.0)
        people = np.where(wrong, 2.0, 4.0)
        votes = pd.concat(
            [_votes("jury", name, "m", verdict - apart * step) for name, step in (("one", 0.0), ("two", 1.0))]
        )
        asked = {"accurate": Question(LIKERT, "high")}
        evidence = _evidence(votes, asked, arms={"jury": verdict}, people=people)
        marks = lay_marks(evidence)
        docket = triage(evidence, marks, "jury", SEVERITY)
        table = areas(docket, errors(marks, "jury", SEVERITY), marks, Draws(0, resamples))
        row = table[table["order"] == TRIAGED].iloc[0]
        return {"value": row["area"], "claimed": float(row["p"] < 0.05)}

    return simulate


def _votes(arm: str, seat: str, model: str, scores: np.ndarray, attribute: str = "accurate") -> pd.DataFrame:
    cases = [f"c{number}" for number in range(len(scores))]
    fixed = {"arm": arm, "juror": seat, "seat": seat, "model": model, "attribute": attribute}
    return pd.DataFrame({"case": cases, "value": scores, **fixed})


def _none() -> pd.DataFrame:
    return pd.DataFrame(columns=["arm", "case", "juror", "seat", "model", "attribute", "value"])


def _long(rater: str, scores: np.ndarray, attribute: str) -> pd.DataFrame:
    cases = [f"c{number}" for number in range(len(scores))]
    return pd.DataFrame({"case": cases, "rater": rater, "attribute": attribute, "value": scores})


def _cases(n: int, systems: list[str] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"case": [f"c{number}" for number in range(n)], "group": None, "system": systems})


def _evidence(
    votes: pd.DataFrame,
    questions: dict[str, Question],
    *,
    arms: dict[str, np.ndarray] | None = None,
    people: np.ndarray | None = None,
    systems: list[str] | None = None,
) -> Evidence:
    """One attribute's scores as a run and its ratings would give them."""
    name = next(iter(questions))
    rated = _long("Ana", people if people is not None else np.zeros(0), name)
    given = pd.concat([_long(arm, scores, name) for arm, scores in (arms or {}).items()] or [rated.head(0)])
    n = max(len(rated), votes["case"].nunique())
    kinds = dict.fromkeys([*(arms or {}), *votes["arm"].unique()], "jury")
    return Evidence(given, rated, questions, _cases(n, systems), pd.DataFrame(), pd.DataFrame(), kinds, votes)


SIMULATIONS: dict[str, Callable[[Rng, int], Outcome]] = {
    "self-preference 0": preference(0.0),
    "self-preference 0, whole points": preference(0.0, whole=True),
    "self-preference 0, juror on system SD 0.1": preference(0.0, liking=0.1),
    "self-preference 0, juror on system SD 0.2": preference(0.0, liking=0.2),
    "self-preference 0.3": preference(0.3),
    "self-preference 0.5, six systems": preference(0.5, systems=6),
    "self-preference 0.5, six systems, juror on system SD 0.1": preference(0.5, systems=6, liking=0.1),
    "self-preference 0.5, six systems, juror on system SD 0.2": preference(0.5, systems=6, liking=0.2),
    "self-preference 0.5, eight systems, juror on system SD 0.2": preference(0.5, systems=8, liking=0.2),
    "severe rate 0.10 against 0.10": severe(0.10, 0.10),
    "severe rate 0.10 against 0.25": severe(0.10, 0.25),
    "the same by McNemar: 0.10 against 0.10": paired(0.10, 0.10),
    "the same by McNemar: 0.10 against 0.25": paired(0.10, 0.25),
    "jurors who fail apart": together(0.0),
    "jurors who fail together (latent correlation 0.5)": together(0.5),
    "a judge as stable as the other (SD 0.5)": unstable(0.5),
    "an unstable judge (SD 1.0 against 0.5)": unstable(1.0),
    "no halo": halos(0.0),
    "a halo": halos(0.8),
    "a triage that knows nothing": triaged(0.0),
    "a triage that knows something": triaged(0.4),
}

if __name__ == "__main__":
    main()
