"""Where deliberations are heard: in this process, or by workers on the machines of a cluster."""

from .executor import Executor, Local

__all__ = ["Executor", "Local"]
