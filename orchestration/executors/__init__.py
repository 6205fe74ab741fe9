"""Executors: deliberations in this process, or by workers on a cluster."""

from .executor import Cluster, Executor, ExecutorJob, executor_factory
from .local import LocalExecutor

__all__ = ["Cluster", "Executor", "ExecutorJob", "LocalExecutor", "executor_factory"]
