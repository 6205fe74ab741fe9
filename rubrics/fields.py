"""Fields and models that may be given in a wider form than they are read in: for type checkers, and for JSON schemas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

Read = TypeVar("Read")
Given = TypeVar("Given")

if TYPE_CHECKING:

    class Converted(Generic[Read, Given]):
        """A field that is `Read` in the model and that its constructor takes as `Given`.

        The model's own validation converts it: `seats: Converted[tuple[Seat, ...], Sequence[Seat]]` takes a list and
        holds a tuple. Type checkers take the constructor's type of a field from `__set__`. A default is written
        `Field(default=..., validate_default=True)`: what a model holds is checked, so its type is not.
        """

        @overload
        def __get__(self, model: None, owner: Any) -> Converted[Read, Given]: ...
        @overload
        def __get__(self, model: object, owner: Any) -> Read: ...
        def __get__(self, model: object | None, owner: Any) -> Any: ...
        def __set__(self, model: object, value: Given) -> None: ...

else:

    class Converted:
        def __class_getitem__(cls, types):
            read, _ = types
            return read


def or_written_as(*shorter: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """For `json_schema_extra` of a model that a file may also write in a shorter form: the schema takes either."""

    def widen(schema: dict[str, Any]) -> None:
        whole = dict(schema)
        schema.clear()
        schema |= {"anyOf": [*shorter, whole]}

    return widen
