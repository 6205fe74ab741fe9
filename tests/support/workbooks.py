"""Excel workbooks for tests, written part by part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZipFile

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def write_workbook(
    path: Path, sheet: str, *, words: Sequence[str] = (), styles: str = "", sheets: str = ""
) -> Path:
    """A workbook whose first sheet holds these rows of XML; `words` are the shared texts, as XML or plain."""
    shared = "".join(word if word.startswith("<si>") else f"<si><t>{escape(word)}</t></si>" for word in words)
    named = sheets or '<sheet name="One" sheetId="1" r:id="rId1"/>'
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">'
        '<Relationship Id="rId1" Target="worksheets/sheet1.xml"/>'
        '<Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
        "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}">{shared}</sst>',
    }
    if styles:
        parts["xl/styles.xml"] = f'<styleSheet xmlns="{_MAIN}">{styles}</styleSheet>'
    with ZipFile(path, "w") as book:
        for name, text in parts.items():
            book.writestr(name, text)
    return path


def text_rows(*rows: Sequence[object]) -> str:
    """Rows as XML, their cells as inline texts and numbers."""
    found = []
    for number, row in enumerate(rows, 1):
        cells = "".join(
            f'<c r="{chr(65 + place)}{number}"><v>{cell}</v></c>'
            if isinstance(cell, int | float)
            else f'<c r="{chr(65 + place)}{number}" t="inlineStr"><is><t>{escape(str(cell))}</t></is></c>'
            for place, cell in enumerate(row)
            if cell != ""
        )
        found.append(f'<row r="{number}">{cells}</row>')
    return "".join(found)
