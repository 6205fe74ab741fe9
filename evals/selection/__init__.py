"""Which jury to use: juries made of judgements that are already there, and arms that really deliberated.

Two doors, one answer. Both are pure: tables in, a `Composition` of tables and sentences out.

`analyse(judgements, people, *, questions, ...)` takes jurors one by one and makes juries of them with no model.
`judgements` has the columns `case, juror, attribute, value` (a blank value is an abstention; optional `repeat`, `order`,
`cost`, `seconds`, `group`); `people` has `case, attribute, value`, with a column `rater` where there are several.
`questions` gives each attribute's `Question` (`ratings/question.py`).

`weigh(arms, *, ...)` takes arms that sat: one row for each arm, case and attribute with `arm, kind, case, attribute,
credit` (optional `group`, `cost`, `seconds`, each for the whole case). `arm_credits` makes that table from arms' scores
and people's reference.

`Composition.tables`, `.sentences()`, `.notes`, `.methods`; `pages/composition_files.py` draws and writes it.
"""

from .choices import Goal
from .composition import Composition
from .credits import arm_credits
from .deliberated_arms import weigh
from .objectives import OBJECTIVES, objective
from .recorded_jurors import analyse

__all__ = ["OBJECTIVES", "Composition", "Goal", "analyse", "arm_credits", "objective", "weigh"]
