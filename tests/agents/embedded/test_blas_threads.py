"""One thread for each matrix product, for as long as anybody asks for it."""

from __future__ import annotations

from threadpoolctl import threadpool_info, threadpool_limits

from venire.agents.embedded.transformer import one_blas_thread


def threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_the_last_to_leave_restores_what_was() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(threads()) <= {1}
        second.__exit__(None, None, None)

        assert threads() == before
