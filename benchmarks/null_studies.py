"""How often a study or a comparison says that an arm beats another where none does, and how often its intervals hold.

    python benchmarks/null_studies.py [--studies 200] [--clusters 2 5 10 20 40] [--arms 4] [--draws 199]

Every study has juries and single judges that see the truth equally well, and people who see it too; cases come in
clusters of about four, which share their quality and each arm's error, and are scored 1 to 5. Nothing asks a model.
Each is put through `compare`'s contrasts and through a study's choice of an arm. Prints a Markdown table: how often
an interval was given, how often it held the truth (no difference), how often some sentence claimed one, and how many
sentences contradict the interval they stand beside.
"""

import argparse
import re
from collections import Counter

import numpy as np
import pandas as pd

from venire.evals.comparison.arm_tables import contrasts, sentences
from venire.evals.ratings.evidence import Evidence
from venire.evals.ratings.pooling import OVERALL
from venire.evals.ratings.question import Question
from venire.evals.ratings.score_tables import CONSTANT, lay_out
from venire.evals.statistics.draws import Draws
from venire.evals.studies.candidates import DIFFERENCE
from venire.evals.studies.deliberated_arms import weigh
from venire.rubrics.errors import VenireError
from venire.rubrics.scale import Scale

SCALE = Scale.model_validate({"level": "ordinal", "anchors": dict.fromkeys(range(1, 6), "")})
ASKED = {"quality": Question(SCALE, "high")}
INTERVAL = re.compile(r"95% interval ([+-][\d.e-]+) to ([+-][\d.e-]+)")
CLAIMS = re.compile(
    r"agrees (better|worse) with people than .*?: |^A jury pays|^No jury pays|^The best jury agrees better"
)
BEATS = re.compile(r"agrees (better|worse) with people than .*?: |^A jury pays|^The best jury agrees better")
"""Claims that one arm beats another; `No jury pays` says that the single judge does, and is counted as a claim only."""
ALONE = "if this were the only comparison"


def null_study(rng: np.random.Generator, clusters: int, arms: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of equally good arms and of three people, long; and each case's group."""
    group = np.repeat(np.arange(clusters), rng.integers(3, 6, clusters))
    quality = 0.7 * rng.normal(size=clusters)[group] + 0.7 * rng.normal(size=len(group))
    names = [f"jury {number}" for number in range(arms // 2)]
    names += [f"judge {number}" for number in range(arms - len(names))]
    rows = []
    for name in (*names, "ana", "ben", "cy"):
        shared = 0.5 * rng.normal(size=clusters)[group] if name in names else 0.0
        seen = quality + shared + 0.7 * rng.normal(size=len(group))
        value = np.clip(np.rint(3.4 + 1.1 * seen), 1, 5)
        rows.append(
            pd.DataFrame(
                {"case": [f"c{k}" for k in range(len(group))], "rater": name, "attribute": "quality", "value": value}
            )
        )  # fmt: skip
    cases = pd.DataFrame({"case": rows[0]["case"], "group": [f"g{k}" for k in group], "system": None})
    return pd.concat(rows, ignore_index=True), cases


def contrast_results(scores: pd.DataFrame, cases: pd.DataFrame) -> tuple[Counter[str], list[str]]:
    """What `compare` finds of every two arms: intervals given and held; and its sentences."""
    person = scores["rater"].isin(["ana", "ben", "cy"])
    kinds = {
        name: name.split()[0].replace("judge", "single judge") for name in scores[~person]["rater"].unique()
    }
    empty = pd.DataFrame()
    sheet = lay_out(Evidence(scores[~person], scores[person], ASKED, cases, empty, empty, kinds))
    table = contrasts(sheet)
    table = table[(table["second"] != CONSTANT) & (table["attribute"] == OVERALL)]
    found: Counter[str] = Counter(asked=len(table), given=int(table["low"].notna().sum()))
    found["held"] = int(((table["low"] <= 0) & (table["high"] >= 0)).sum())
    return found, sentences(table)


def choice_results(scores: pd.DataFrame, cases: pd.DataFrame, draws: Draws) -> tuple[Counter[str], list[str]]:
    """What a study finds of the best jury and the best single judge; and its advice."""
    person = scores["rater"].isin(["ana", "ben", "cy"])
    people = scores[person].groupby("case")["value"].median()
    arms = scores[~person].merge(cases, on="case")
    table = pd.DataFrame(
        {
            "arm": arms["rater"],
            "kind": arms["rater"].str.split().str[0].replace("judge", "single judge"),
            "case": arms["case"],
            "attribute": "quality",
            "credit": 1 - (arms["value"] - arms["case"].map(people)).abs() / 4,
            "group": arms["group"],
        }
    )
    try:
        study = weigh(table, seed=draws.seed, resamples=draws.resamples)
    except VenireError:
        return Counter(asked=1), []
    row = study.answers[study.answers["what"] == DIFFERENCE].iloc[0]
    found: Counter[str] = Counter(asked=1, given=int(row["low"] == row["low"]))
    found["held"] = int(row["low"] <= 0 <= row["high"])
    return found, study.sentences()


def contradictions(said: list[str]) -> int:
    """Sentences that claim a difference beside an interval with zero in it, or deny one beside an interval without."""
    wrong = 0
    for sentence in said:
        ends = INTERVAL.search(sentence)
        if ends is None or not (CLAIMS.search(sentence) or "demonstrabl" in sentence):
            continue
        apart = float(ends[1]) > 0 or float(ends[2]) < 0
        wrong += apart != bool(CLAIMS.search(sentence) or ALONE in sentence)
    return wrong


def main() -> None:
    """Print one row for each kind of study and number of clusters."""
    options = argparse.ArgumentParser(description="False claims and coverage in null studies.")
    options.add_argument("--studies", type=int, default=200)
    options.add_argument("--clusters", type=int, nargs="+", default=[2, 5, 10, 20, 40])
    options.add_argument("--arms", type=int, default=4)
    options.add_argument("--draws", type=int, default=199)
    asked = options.parse_args()
    print(
        "| | clusters | intervals given | hold | studies with a false claim | false beats | contradictions |"
    )
    print("|---" * 7 + "|", flush=True)
    for clusters in asked.clusters:
        for name in ("compare", "study"):
            total: Counter[str] = Counter()
            for seed in range(asked.studies):
                scores, cases = null_study(np.random.default_rng([seed, clusters]), clusters, asked.arms)
                if name == "compare":
                    found, said = contrast_results(scores, cases)
                else:
                    found, said = choice_results(scores, cases, Draws(seed, asked.draws))
                total += found
                total["claimed"] += any(CLAIMS.search(each) and ALONE not in each for each in said)
                total["beats"] += any(BEATS.search(each) and ALONE not in each for each in said)
                total["wrong"] += contradictions(said)
            held = f"{total['held'] / total['given']:.1%}" if total["given"] else "none given"
            print(
                f"| {name} | {clusters} | {total['given'] / total['asked']:.0%} | {held} | "
                f"{total['claimed'] / asked.studies:.1%} | {total['beats'] / asked.studies:.1%} | {total['wrong']} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
