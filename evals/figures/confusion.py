"""Confusion matrices: what each arm gave where people gave what."""

from __future__ import annotations

import pandas as pd

from .drawing import COLOURS, clipped, rect, short, svg, text

CELL = 44


def confusion(counts: pd.DataFrame) -> str:
    """One matrix an arm; a cell's shade is its share of people's column.

    Args:
        counts: Columns `arm`, `arm_value`, `people_value`, `count`.
    """
    arms = list(dict.fromkeys(counts["arm"]))
    legal = sorted(set(counts["people_value"]))
    side = len(legal) * CELL
    across = min(len(arms), 3) or 1
    down = -(-len(arms) // across)
    parts = []
    for number, arm in enumerate(arms):
        left, top = 60 + (number % across) * (side + 90), 46 + (number // across) * (side + 86)
        grid = counts[counts["arm"] == arm].pivot(index="arm_value", columns="people_value", values="count")
        parts.append(text(left, top - 14, clipped(arm, 34), bold=True))
        parts.append(text(left + side / 2, top + side + 34, "people", anchor="middle", soft=True))
        parts.append(text(left - 32, top + side / 2, "arm", anchor="middle", soft=True, turned=-90))
        for column, given in enumerate(legal):
            total = grid[given].sum()
            x = left + column * CELL
            parts.append(text(x + CELL / 2, top + side + 16, short(given), anchor="middle"))
            for row, said in enumerate(reversed(legal)):
                y, count = top + row * CELL, int(grid.loc[said, given])
                share = count / total if total else 0.0
                parts.append(rect(x, y, CELL - 2, CELL - 2, COLOURS[0], opacity=0.06 + 0.84 * share))
                fill = "#ffffff" if share > 0.6 else "currentColor"
                parts.append(text(x + CELL / 2 - 1, y + CELL / 2 + 4, str(count), anchor="middle", fill=fill))
        for row, said in enumerate(reversed(legal)):
            parts.append(text(left - 8, top + row * CELL + CELL / 2 + 4, short(said), anchor="end"))
    return svg(60 + across * (side + 90), 20 + down * (side + 86), "Confusion with people's median", parts)
