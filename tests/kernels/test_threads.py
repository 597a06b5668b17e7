from __future__ import annotations

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from thpi.kernels.threads import n_threads, one_blas_thread, own_threads, run_in_order, small_products


def test_limits_of_other_libraries_hold():
    with threadpool_limits(1):
        assert n_threads() == 1
    assert n_threads() >= 1


def _blas_threads():
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def test_kernels_keep_the_threads_that_blas_gives_up():
    with threadpool_limits(2):
        with own_threads():
            assert (_blas_threads(), n_threads()) == (1, 2)
            with own_threads():
                assert (_blas_threads(), n_threads()) == (1, 2)
            assert (_blas_threads(), n_threads()) == (1, 2)
        assert (_blas_threads(), n_threads()) == (2, 2)
        with one_blas_thread(), own_threads():
            assert n_threads() == 1


def test_few_rows_have_one_thread():
    with threadpool_limits(2):
        with small_products(2000):
            assert _blas_threads() == 1
        with small_products(2001):
            assert _blas_threads() == 2


def test_threads_are_given_back_after_an_error():
    with threadpool_limits(2):
        with pytest.raises(KeyError), own_threads():
            raise KeyError
        assert (_blas_threads(), n_threads()) == (2, 2)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_results_come_in_order_and_tasks_are_drawn_as_they_are_needed(n):
    running, most, lock = 0, 0, threading.Lock()
    caller = threading.get_ident()

    def task(i):
        nonlocal running
        with lock:
            running -= 1
        return i

    def tasks():
        nonlocal running, most
        for i in range(50):
            assert threading.get_ident() == caller
            with lock:
                running += 1
                most = max(most, running)
            yield lambda i=i: task(i)

    assert run_in_order(tasks(), n) == list(range(50))
    assert most <= n


@pytest.mark.parametrize("n", [1, 2])
def test_errors_reach_the_caller(n):
    def fail():
        raise KeyError("inside a task")

    def tasks():
        yield lambda: 1
        raise ValueError("while drawing")

    with pytest.raises(KeyError, match="inside a task"):
        run_in_order([lambda: 1, fail], n)
    with pytest.raises(ValueError, match="while drawing"):
        run_in_order(tasks(), n)
