"""A real Chromium for the tests of pages: the headless shell where there is one, which draws the same in two thirds of the time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")


@contextmanager
def real_browser() -> Iterator[Any]:
    """A browser without a page; the test is skipped, with the reason, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = os.environ.get("VENIRE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no chromium on the path")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
