"""Executors: deliberations in this process, or by workers on a cluster."""

from .executor import Cluster, Executor, ExecutorFactory, ExecutorJob, LocalExecutor, executor_factory

__all__ = ["Cluster", "Executor", "ExecutorFactory", "ExecutorJob", "LocalExecutor", "executor_factory"]
