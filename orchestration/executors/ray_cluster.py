"""A Ray cluster: an existing one, or one that is started on this machine for the run."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...rubrics.errors import MissingExtra, VenireError
from .executor import Cluster

_STORE = 100 * 2**20
"""Bytes of shared memory for a cluster of our own: nothing large goes through it."""
_REACH = 10.0
"""Seconds to wait for a cluster's address to answer."""
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""No reports to Ray's makers, and the new behaviour where the old one warns."""


@contextmanager
def ray_connection(cluster: Cluster) -> Iterator[Any]:
    """Ray, connected while the block runs; it may say nothing on stdout, which belongs to the run's report."""
    if find_spec("ray") is None:
        raise MissingExtra("the executor ray needs Ray", remedy="pip install 'venire[ray]'")
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    address = cluster.address or os.environ.get("RAY_ADDRESS")
    if address == "local":
        address = None
    if address and address.startswith("ray://"):
        raise VenireError(
            f"{address} is the address of a Ray client, and a run is not one",
            remedy="start the run on a node of the cluster, with --ray-address auto",
        )
    if not address and "ray" not in sys.modules:
        # Whoever reaches a cluster can run code on it, and Ray listens on every address of the machine: ours has a
        # secret, which Ray reads when it is loaded.
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    ray: Any = import_module("ray")
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        if ray.is_initialized():
            yield ray
            return
        folder = None if address else tempfile.mkdtemp(prefix="venire-ray-", dir=_short())
        try:
            _connect(ray, address, folder, cluster.workers)
            yield ray
        finally:
            ray.shutdown()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _connect(ray: Any, address: str | None, folder: str | None, workers: int | None) -> None:
    if address:
        _refuse_unreachable(address)
    own: dict[str, Any] = {
        "num_cpus": workers,
        "object_store_memory": _STORE,
        "include_dashboard": False,
        "_temp_dir": folder,
    }
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if address:
                ray.init(address=address, **quiet)
            else:
                ray.init(address="local", **own, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the Ray cluster at {address}" if address else "a Ray cluster on this machine"
        why = " ".join(str(error).split())[:300]
        raise VenireError(
            f"{where} cannot be used: {why}",
            remedy="check ray status; the same versions of Python and Ray must be on every node",
        ) from None


def _short() -> str | None:
    """A folder with a short path: a socket's name has a limit that some values of TMPDIR exceed."""
    usual = Path("/tmp")  # noqa: S108
    return str(usual) if usual.is_dir() else None


def _refuse_unreachable(address: str) -> None:
    """An error if nothing listens at the address: Ray itself would retry for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=_REACH).close()
    except OSError as error:
        raise VenireError(
            f"no Ray cluster answers at {address}: {error.strerror or error}",
            remedy="start one with ray start --head, or leave the address out",
        ) from None
