"""What the tests of plug-ins start from: jurors on loopback, and a copy of the examples to run and to change."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai_server import ProviderServer
from plugin_hosts import EXAMPLES, found_by, local_jurors


@pytest.fixture(scope="module")
def server() -> Iterator[ProviderServer]:
    with local_jurors() as serving:
        yield serving


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES, tmp_path / "plugins"))


@pytest.fixture
def found(request: pytest.FixtureRequest, server: ProviderServer, tmp_path: Path) -> Any:
    """What the test module's `HOST` gives back of its own results, its jurors on `server`."""
    return found_by(request.module.HOST, tmp_path, server)
