"""The methods paragraph: every choice that stands behind a comparison's numbers."""

from __future__ import annotations

from ..ratings.reference import rule_words
from ..ratings.sheet import CONSTANT, Sheet
from ..statistics.draws import Draws


def comparison_methods(sheet: Sheet, draws: Draws) -> tuple[str, ...]:
    """Sentences for a paper."""
    cases = sheet.rows["case"].nunique()
    people = len(sheet.people)
    pooled = sheet.pooling.names
    apart = [name for name in sheet.questions if name not in pooled]
    clusters = sheet.rows["cluster"].nunique()
    drawn = (
        f"groups of cases ({clusters} of them, drawn whole; a case without a group is its own)"
        if sheet.grouped
        else f"cases ({clusters} of them)"
    )
    found = [
        f"{cases} cases were scored by {', '.join(sheet.arms)} and by {people} {'person' if people == 1 else 'people'}.",
        "An arm's score is the verdict recounted from its ballots by its jury's own rule; a single judge's is the count "
        "of its repeats. What was hung or not applicable has no score and is counted apart.",
        f"The reference is the {rule_words(sheet.rule)}."
        if people > 1
        else "The reference is the one person's rating.",
        "Each person is set against the reference of the other people." if people > 1 else "",
        f"Floors: '{CONSTANT}', which gives every case the good end of the scale"
        + (
            f", and {' and '.join(map(repr, sheet.overlap.columns))} with the case's reference text, which gives an order only."
            if len(sheet.overlap.columns)
            else "."
        ),
        f"'Overall' pools the attributes that share one scale ({', '.join(filter(None, (*pooled, sheet.pooling.note)))})"
        + (f"; {', '.join(apart)} {'stands' if len(apart) == 1 else 'stand'} alone." if apart else "."),
        "ICC(3,k) has two columns, the arm and the reference (k = 2), as in Croxford et al. (2025). Kappa has quadratic "
        "weights over the values themselves and, beside it, none; alpha is ordinal; AC2 has quadratic weights over all "
        "values of the rubric's scale. For exact agreement, plain kappa, AC2 and the confusion matrices a mean or median "
        "between two legal values counts as the nearest, the lower of two as near.",
        f"Intervals are 95%. Resampled ones are expanded BCa intervals (Efron 1987; Hesterberg 2015) from {draws.resamples} "
        f"resamples of {drawn}, seed {draws.seed}; where no two scores share a case or a group, ICC has its F interval, AC2 Gwet's, exact "
        "agreement Wilson's. Every coefficient saw the same resamples.",
        "Differences between arms are paired: both arms, on the scores that both and people gave, over their jackknife error, "
        "against the distribution when the arms are swapped within cases or their groups (beyond 100 of these, Student's t). Interval and "
        "two-sided mid-p are read from that one distribution; p is corrected by Holm's method "
        "over all pairs of arms and both measures ('overall' is one family, the single attributes another). A difference is stated where "
        "the corrected p is below 0.05; where it is not, that is no proof of equality.",
        "Wilcoxon's signed-rank test drops equal scores and takes the scores of one case as independent; its overall row is "
        "optimistic for that reason, the interval of the offset is not.",
    ]
    if people > 1:
        found.append(
            "In each person's place: the change in the people's ICC(3,k), on scores that everyone gave, arm and person swapped in "
            "the same way. As one more rater: the same change over its jackknife error, by Student's t."
        )
    found.append(
        "The mixed model has arm minus person as its outcome, group, system and lengths (in words, per standard deviation) "
        "as far as they vary as fixed effects, and crossed random intercepts for person, attribute and case (REML; Student's t with as many degrees of freedom as cases less terms); without the last, predictors of cases would look surer than they are; where the table is too large for it, a linear regression on each case's mean difference."
    )
    return tuple(filter(None, found))
