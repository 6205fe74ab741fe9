"""The numbers that a report's page holds, read back from its markup."""

from __future__ import annotations

from html.parser import HTMLParser


class PageNumbers(HTMLParser):
    """The exact numbers of a page: by coefficient cell, and by table, row and column."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: dict[tuple[str, ...], list[float]] = {}
        self.tables: dict[str, list[dict[str, float]]] = {}
        self.links: list[str] = []
        self._rows: list[dict[str, float]] = []
        self._values: list[float] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.links += [given[key] for key in ("src", "href") if key in given]
        if tag == "table":
            self._rows = self.tables.setdefault(given.get("data-table", ""), [])
        elif tag == "tr":
            self._rows.append({})
        elif tag == "td":
            self._values = []
            if "data-arm" in given:
                key = (given["data-arm"], given["data-attribute"], given["data-coefficient"])
                self.cells[key] = self._values
            self._column = given.get("data-column", "")
        elif tag == "data":
            self._values.append(float(given["value"]))
            self._rows[-1][self._column] = float(given["value"])
