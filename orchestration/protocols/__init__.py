"""Ways of deliberating, by the names users type. Built-in protocols are registered like any plug-in's."""

from .protocol import Protocol, protocol, protocols

__all__ = ["Protocol", "protocol", "protocols"]
