"""Ways of deliberating, by the names users type. Built-in protocols are registered like any plug-in's."""

from .protocol import GROUP, Protocol, protocol, protocols

__all__ = ["GROUP", "Protocol", "protocol", "protocols"]
