"""The harness of the benchmarks; nothing here depends on how long anything takes."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks are not installed

from benchmarks import __main__ as command
from benchmarks import _growth
from benchmarks._cases import Case, Measured, measure
from benchmarks._growth import Growth, exponent, measure_growth
from benchmarks._machine import Peaks
from benchmarks._table import BEGIN, END, case_row, lined_up, markdown, put_between_markers


def _case(**changes):
    settings = {"what": "sum", "against": "sorted", "target": 1e9, "repeats": 2}
    settings |= {"ours": lambda: sum(range(1000)), "other": lambda: sorted(range(1000))[-1], "check": None}
    return Case(**settings | changes)


def _refuse(ours, other):
    raise AssertionError(f"{ours} is not {other}")


def test_a_case_is_measured_and_its_check_is_called_with_both_results():
    seen = []

    def check(ours, other):
        seen.append((ours, other))
        return "fine"

    measured = measure(_case(check=check), 1)
    assert seen == [(499500, 999)]
    assert measured.ratio > 0
    assert measured.ours > 0
    assert measured.remark == "fine"


def test_sides_run_in_turn_after_warming_up():
    order = []
    measure(_case(ours=lambda: order.append("a"), other=lambda: order.append("b"), repeats=3), 1)
    assert "".join(order) == "ab" * 4


def test_work_scales_the_other_side():
    measured = measure(_case(work=1e6), 1)
    assert measured.ratio < measure(_case(), 1).ratio


@pytest.mark.parametrize(("target", "met"), [(1e9, "yes"), (0.0, "NO")])
def test_a_row_tells_whether_the_target_is_met(target, met):
    case = _case(target=target)
    assert case_row(case, [measure(case, 1)], [Peaks(1e9, 1e9)])[-3] == met


def test_a_row_tells_how_near_the_limit_is():
    half, none = _case(operations=2e9, bytes_read=1e9), _case()
    measured = Measured(4.0, 8.0, 0.5, "")
    assert case_row(half, [measured, measured], [Peaks(1e9, 1e9), Peaks(2e9, 2e9)])[-2] == "50 %, 25 %"
    assert case_row(none, [measured], [Peaks(1e9, 1e9)])[-2] == ""


def test_a_run_goes_on_after_a_failure_and_ends_with_1(monkeypatch, tmp_path, capsys):
    def cases(full):
        yield _case(what="bad", check=_refuse)
        yield _case(what="good")
        raise MemoryError("no room for data")

    module = SimpleNamespace(__name__="benchmarks.speed_test", cases=cases)
    monkeypatch.setattr(command, "modules", lambda: [module])
    monkeypatch.setattr(command, "machine_line", lambda peaks: "a machine")
    monkeypatch.setattr(command, "measured_peaks", lambda threads: dict.fromkeys(threads, Peaks(1e9, 1e9)))
    output = tmp_path / "results.md"
    assert command.main(["--threads", "1", "--output", str(output)]) == 1
    text = output.read_text()
    assert "| good | sorted |" in text
    assert "499500 is not 999" in text
    assert "no room for data" in text
    assert "FAILED: AssertionError" in capsys.readouterr().out
    assert command.main(["--threads", "1", "--only", "GOO"]) == 1  # the data that could not be made
    assert command.main(["--threads", "1", "--only", "nothing has this name"]) == 1


def test_only_the_text_between_markers_changes(tmp_path):
    path = tmp_path / "results.md"
    before, after = "# Title\n\nkept above\n\n", "\n\n## Other section\n\nkept below\n"
    path.write_text(f"{before}{BEGIN}\nold\n{END}{after}")
    put_between_markers(path, "new")
    assert path.read_text() == f"{before}{BEGIN}\nnew\n{END}{after}"
    put_between_markers(path, "newer")
    assert path.read_text() == f"{before}{BEGIN}\nnewer\n{END}{after}"
    assert list(tmp_path.iterdir()) == [path]


def test_markers_are_added_at_the_end_and_half_a_pair_is_refused(tmp_path):
    path = tmp_path / "results.md"
    path.write_text("# Title\n\nkept\n")
    put_between_markers(path, "new")
    assert path.read_text() == f"# Title\n\nkept\n\n{BEGIN}\nnew\n{END}\n"
    for broken in (f"{BEGIN}\n", f"{END}\n", f"{END}\n{BEGIN}\n", f"{BEGIN}{BEGIN}{END}"):
        path.write_text(broken)
        with pytest.raises(ValueError, match="results.md"):
            put_between_markers(path, "new")
        assert path.read_text() == broken


def test_tables():
    assert lined_up(["a", "long"], [["bcd", "e"]]) == "a    long\nbcd  e"
    assert markdown(["a", "b"], [["1|2", "3"]]) == "| a | b |\n|---|---|\n| 1\\|2 | 3 |"


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_the_exponent_of_a_power_is_found(power):
    sizes = [5, 20, 80]
    assert exponent(sizes, [3 * n**power for n in sizes]) == pytest.approx(power)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc for peak memory")
def test_memory_of_a_process_grows_with_what_it_allocates(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).resolve().parents[2]}:{Path(__file__).parent}")
    prepare = SimpleNamespace(__module__="growing", __qualname__="allocate")
    grown = measure_growth(Growth("bytes", (20, 80), prepare, target=2), 1)
    assert grown.mebibytes == [pytest.approx(20, abs=4), pytest.approx(80, abs=4)]
    assert grown.memory_exponent == pytest.approx(1, abs=0.3)
    assert all(seconds > 0 for seconds in grown.seconds)


def test_a_size_that_fails_is_named(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).resolve().parents[2]}:{Path(__file__).parent}")
    prepare = SimpleNamespace(__module__="growing", __qualname__="fail")
    with pytest.raises(RuntimeError, match="bytes at n=20: ValueError: 20 is too many"):
        _growth.measure_growth(Growth("bytes", (20,), prepare, target=2), 1)
