"""A Ray cluster of two nodes on this machine, in a process of its own, one of whose nodes can be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_NODES = """
import sys
from ray.cluster_utils import Cluster

plain = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=plain)
second = cluster.add_node(**plain)
raylet = second.all_processes["raylet"][0].process.pid
print(cluster.address, raylet, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


class Nodes:
    """A head and a second node, one CPU each; they have the environment of the moment they are started in."""

    def __init__(self) -> None:
        # Short: the names of Ray's sockets are limited.
        self.folder = Path(tempfile.mkdtemp(prefix="vr-"))
        self.address = ""

    def __enter__(self) -> Nodes:
        # Ray writes the cluster's address where it puts everything else, and does not make that folder for it.
        (self.folder / "ray").mkdir()
        quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _NODES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **quiet, "RAY_TMPDIR": str(self.folder)},
            text=True,
        )
        assert self._process.stdout is not None
        while len(words := self._process.stdout.readline().split()) != 2 or ":" not in words[0]:
            assert self._process.poll() is None, "Ray did not start"
        self.address, self._second = words[0], int(words[1])
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill_second(self) -> None:
        """End everything on the second node at once, as when a machine is switched off."""
        for process in [self._second, *_below(self._second)]:
            os.kill(process, signal.SIGKILL)


def _below(process: int) -> list[int]:
    """The children of a process, and theirs."""
    children = Path(f"/proc/{process}/task/{process}/children")
    found = [int(child) for child in children.read_text().split()] if children.exists() else []
    return [each for child in found for each in (child, *_below(child))]
