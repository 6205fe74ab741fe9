"""Records that several sittings of one process write to: opened once, closed by the last."""

from __future__ import annotations

import threading
from pathlib import Path

from ...orchestration.record import Location, Store
from ...orchestration.record.location import is_address
from ...rubrics.errors import VenireError

_OPEN: dict[str, list[Store]] = {}
"""The store of each record, once for every sitting that holds it."""
_LOCK = threading.Lock()


def share_record(record: Location, *, redact: bool) -> Store:
    """The open store of `record`, or a new one; each caller releases it once."""
    key = str(record) if is_address(record) else str(Path(record).resolve())
    with _LOCK:
        holders = _OPEN.get(key, [])
        if holders and redact and not holders[0].redacted:
            raise VenireError(
                f"{holders[0].name}: another jury of this process keeps words in this record",
                remedy="give this one a record of its own, or redact for both",
            )
        store = holders[0] if holders else Store.create(record, redact=redact)
        _OPEN[key] = [*holders, store]
        return store


def release_record(store: Store) -> None:
    """Give a store back; the last to do so closes it."""
    with _LOCK:
        key = next(key for key, holders in _OPEN.items() if holders[0] is store)
        _OPEN[key].pop()
        if not _OPEN[key]:
            del _OPEN[key]
            store.close_sync()
