"""The pictures of docs/gallery.md: real pages of runs that are made here, without a model, photographed by a browser.

    python docs/pictures.py

It needs Chromium and playwright, which the tests' environment has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
PICTURES = Path(__file__).parent / "pictures"
WIDE, PHONE = (1280, 800), (390, 844)
CHROMIUM = os.environ.get("VENIRE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def main() -> None:
    """Make two runs and a report, and photograph what people see of them."""
    PICTURES.mkdir(exist_ok=True)
    demo, dose = ROOT / "evals" / "demo", ROOT / "examples" / "wrong-dose"
    with tempfile.TemporaryDirectory() as made, sync_playwright() as driver:
        folder = Path(made)
        venire(
            "run",
            dose / "cases.jsonl",
            "--rubric",
            dose / "rubric.yaml",
            "--jury",
            dose / "jury.yaml",
            "-o",
            folder / "dose",
        )
        juries = ("--jury", "lens-jury", "--jury", "lens-single")
        venire("run", demo / "cases.jsonl", "--rubric", "clinical-note", *juries, "-o", folder / "demo")
        venire("compare", folder / "demo", "--human", demo / "labels.csv", "-o", folder / "report")
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        with inspector(folder / "dose") as url:
            photograph(browser, f"{url}case?id=visit-1", "deliberation", WIDE)
            photograph(browser, f"{url}case?id=visit-1", "deliberation-dark", WIDE, dark=True)
            photograph(browser, f"{url}case?id=visit-1", "deliberation-phone", PHONE)
        with inspector(folder / "demo", "--human", demo / "labels.csv") as url:
            photograph(browser, url, "overview", WIDE)
            photograph(browser, f"{url}cases", "cases", WIDE)
        photograph(browser, (folder / "report" / "report.html").as_uri(), "comparison", WIDE)
        browser.close()


def venire(*arguments: object) -> None:
    subprocess.run(
        [sys.executable, "-m", "venire.cli", *map(str, arguments), "--quiet"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


@contextmanager
def inspector(run: Path, *options: object) -> Iterator[str]:
    """The address of an inspector that has read the whole run."""
    command = [sys.executable, "-m", "venire.cli", "inspect", str(run), "--no-open", *map(str, options)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]
        try:
            while (live := _live(url))["read"] < live["last"]:
                time.sleep(0.2)
            yield url
        finally:
            server.terminate()


def _live(url: str) -> dict[str, int]:
    """How far the inspector's index has come; it is on this machine."""
    with urllib.request.urlopen(f"{url}live") as answer:  # noqa: S310
        found: dict[str, int] = json.load(answer)
    return found


def photograph(browser: Any, url: str, name: str, size: tuple[int, int], *, dark: bool = False) -> None:
    width, height = size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    page.goto(url)
    page.wait_for_timeout(1500)
    while "The record is being read" in page.inner_text("body"):
        page.reload()
        page.wait_for_timeout(1500)
    page.screenshot(path=PICTURES / f"{name}.png")
    page.close()


if __name__ == "__main__":
    main()
