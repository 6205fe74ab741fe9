"""Executors: deliberations in this process, or by workers on a cluster."""

from .executor import Executor, LocalExecutor

__all__ = ["Executor", "LocalExecutor"]
