"""Every coefficient of agreement.

The package can be called like the function it is named for: `from venire.evals import agreement` gave that
function before the room was built, and whoever wrote it so still gets what they call.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        from .rater_agreement import agreement

        return agreement(*args, **options)


sys.modules[__name__].__class__ = _Room
