"""The machine that measures: what it is, not whose."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine() -> dict[str, str | int | float]:
    """Cores, processor, system and Python; and how busy it was before anything was measured."""
    return {
        "cores": os.cpu_count() or 0,
        "processor": _processor(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
