"""Workbooks for tests, written part by part."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZipFile

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def write_workbook(
    path: Path, sheet: str, *, words: Sequence[str] = (), styles: str = "", sheets: str = "", second: str = ""
) -> Path:
    """A workbook whose first sheet holds these rows of XML; `words` are the shared texts, as XML or plain."""
    shared = "".join(word if word.startswith("<si>") else f"<si><t>{escape(word)}</t></si>" for word in words)
    named = sheets or '<sheet name="One" sheetId="1" r:id="rId1"/>'
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}">'
        f'<Relationship Id="rId1" Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">'
        f'<Relationship Id="rId1" Type="{_LINKS}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{_LINKS}/worksheet" Target="/xl/worksheets/sheet2.xml"/>'
        f'<Relationship Id="rId3" Type="{_LINKS}/sharedStrings" Target="sharedStrings.xml"/>'
        f'<Relationship Id="rId4" Type="{_LINKS}/styles" Target="styles.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
        "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{second or sheet}</sheetData></worksheet>',
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


def write_ods(path: Path, *rows: Sequence[object], repeated: int = 1) -> Path:
    """An OpenDocument spreadsheet of one sheet; each row and cell may stand for many."""
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    cell = f'<table:table-cell office:value-type="string" table:number-columns-repeated="{repeated}">'
    body = "".join(
        f'<table:table-row table:number-rows-repeated="{repeated}">'
        + "".join(f"{cell}<text:p>{escape(str(value))}</text:p></table:table-cell>" for value in row)
        + "</table:table-row>"
        for row in rows
    )
    names = " ".join(f'xmlns:{name}="{office}{name}:1.0"' for name in ("office", "table", "text"))
    with ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{office}manifest:1.0"/>')
        book.writestr(
            "content.xml",
            f"<office:document-content {names}><office:body><office:spreadsheet>"
            f'<table:table table:name="One">{body}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return path


def write_xlsb(path: Path, *rows: Sequence[str]) -> Path:
    """A binary workbook ([MS-XLSB]) of one sheet of texts."""
    cells = b"".join(
        _record(0, struct.pack("<I", number) + bytes(13))
        + b"".join(_record(6, struct.pack("<II", column, 0) + _wide(text)) for column, text in enumerate(row))
        for number, row in enumerate(rows)
    )
    size = struct.pack("<IIII", 0, len(rows) - 1, 0, len(rows[0]) - 1)
    sheet = _record(129) + _record(148, size) + _record(145) + cells + _record(146) + _record(130)
    named = _record(156, struct.pack("<II", 0, 1) + _wide("rId1") + _wide("One"))
    book = (
        _record(131) + _record(153, bytes(12)) + _record(143) + named + _record(144) + _record(157, bytes(26))
    )
    links = f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" Type="{_LINKS}/%s" Target="%s"/></Relationships>'
    with ZipFile(path, "w") as archive:
        archive.writestr("_rels/.rels", links % ("officeDocument", "xl/workbook.bin"))
        archive.writestr("xl/_rels/workbook.bin.rels", links % ("worksheet", "worksheets/sheet1.bin"))
        archive.writestr("xl/workbook.bin", book + _record(132))
        archive.writestr("xl/worksheets/sheet1.bin", sheet)
    return path


def write_xls(path: Path) -> Path:
    """An Excel 97 workbook: the sheet First with id, output and a, 1; the sheet Second with id, output, done and b, Étude., true."""
    path.write_bytes(zlib.decompress(base64.b85decode(_XLS)))
    return path


def _record(kind: int, data: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    assert len(data) < 128
    return head + bytes([len(data)]) + data


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


_XLS = (
    "c-rk)O=uHA6#iy^nje}psj1KkB^0c+mV$Wk(ry)OPnN0&MFdT{IfRy^#N=QPTCF(>f+xjGp%*VzFaDqhy(tJ4JqUu3D0uNCD0pbI"
    "zInSVspgP?7F*_9=FOWoZ)V=^dv9iUU$4e1OZR)K_zk1bQFB6QtCI;TA-@p=^*fGa{W?g+QP@%l1<8?ZCZ0rI1*8w9zpK!2&v;H0"
    "_(<gp<}jJhWs;kS!)!xJNE=3kL9wUdHkBy4*{)8e(@b|Tz00~!nU1mK8q*Qdt%%cDwI&A-dU1S8>*KyCQGtg%<~>XHqYE!&9ACOF"
    "TwN1~3fa``|Jl)Nv|}0Mxrt0JQ%KELkRTT><GYgtzWKTOEUDz1D;FU7kB#y`1NjZj02bh!6EYCXh~Tp>drXXH3+IbviqLt}&C3&+"
    ">3q&!!!Yl&GEXU9vo<mLQgN<Sq`*kgWHu!#v1yXOESBuda9HlzoaM0%SsvloZzpP_gZVgTK#b;JyYuzU(e#vcmL&_kqPzd^mIlMY"
    "WjTTdN4ZD)MF*MgV|s;W-Nk$l(*)fZ)%{al9y7kkI#;>3pVm3Rcx&yc;|GW@e>wK3xBSW4OZ>`2bw083&RRkrokuo}m)9bO#E`gk"
    "Q{u7Z*TUN=J}~Y6W7i03G0%3#JLEdBjxe)vrfy3<9pUMV2Ks{a<%}1#FxwO7r#z~4;sHONvAUCV^L(OjVV~$t`owK%)Y9ubq&M`C"
    ";pw{`lBs2CK|WpNT<k40@|J>vf`WpAg2Hxz@ZJ>Vo0GvG9`2iH!27SWPNk-PlWbcYN1m=CeU=_Uj_Lv~v=l!(VG4gP(c~Eaf1$)l"
    "TD^c7q}h&{mgAScBt-rFG(9l(_fn|U^=qxz`H$EC2|Gdfu>"
)
"""Written by xlwt 1.3."""
