"""A PostgreSQL server for the tests of the record and of what reads it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest
from postgres_cluster import Cluster, binaries


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server that tests share."""
    yield from _running_cluster()


@pytest.fixture
def empty_cluster() -> Iterator[Cluster]:
    """A PostgreSQL server of a test's own: whose files hold nobody else's words."""
    yield from _running_cluster()


def _running_cluster() -> Iterator[Cluster]:
    if binaries() is None:
        pytest.skip("PostgreSQL's initdb is not installed")
    if importlib.util.find_spec("pg8000") is None:
        pytest.skip("pg8000 is not installed")
    with Cluster() as running:
        yield running
