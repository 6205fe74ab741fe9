"""The numbers that a report's page holds, read back from its markup."""

from __future__ import annotations

from html.parser import HTMLParser


class PageNumbers(HTMLParser):
    """The exact numbers of a page: all of a cell by table, row and column; and the last of each by table and row."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: dict[tuple[str, int, str], list[float]] = {}
        self.tables: dict[str, list[dict[str, float]]] = {}
        self.links: list[str] = []
        self._rows: list[dict[str, float]] = []
        self._values: list[float] = []
        self._table = self._column = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.links += [given[key] for key in ("src", "href") if key in given]
        if tag == "table":
            self._table = given.get("data-table", "")
            self._rows = self.tables.setdefault(self._table, [])
        elif tag == "tr":
            self._rows.append({})
        elif tag == "td":
            self._values = []
            self._column = given.get("data-column", "")
            self.cells[self._table, len(self._rows) - 1, self._column] = self._values
        elif tag == "data":
            self._values.append(float(given["value"]))
            self._rows[-1][self._column] = float(given["value"])
