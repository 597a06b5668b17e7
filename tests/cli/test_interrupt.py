"""Real processes, interrupted with Ctrl-C: exit code 130, no traceback, no half-written file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import thpi

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal"),
    pytest.mark.usefixtures("ctrl_c"),
]

# Says on standard output that the command begins, so that the interrupt does not hit the start of Python itself.
START = "from thpi.cli import main; print('begun', flush=True); main()"


def _start(arguments: list[object], **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", START, *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def _interrupt(process: subprocess.Popen[str]) -> int:
    try:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "Traceback" not in err
    return process.returncode


@pytest.mark.parametrize("command", ["build", "add"])
def test_while_the_data_are_still_coming(collection, shop, tmp_path, command):
    """The data are a pipe that stays open: the command is certain to be in the middle of its work."""
    pipe, before = tmp_path / "data.csv", collection.read_bytes()
    os.mkfifo(pipe)
    process = _start([command, tmp_path / "out.thpi" if command == "build" else collection, pipe])
    with open(pipe, "w") as data:  # opens once the command reads
        data.write((shop / "shop.csv").read_text().partition("\n")[0] + "\n")
        data.flush()
        assert _interrupt(process) == 130
    assert set(tmp_path.iterdir()) == {pipe, collection}
    assert collection.read_bytes() == before


def test_while_fitting(shop, tmp_path):
    """A fit that would take hours; an old collection stays as it was."""
    path = tmp_path / "m.thpi"
    shutil.copy(shop / "collection.thpi", path)
    before = path.read_bytes()
    process = _start(["build", path, shop / "target.npy", "--force", "--set", "max_iter=100000000", "--set", "tol=0",
                      "--set", "n_init=1000000"])  # fmt: skip
    time.sleep(2)  # wherever it is by then, in the imports or in the fit
    assert _interrupt(process) == 130
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_while_reading_queries(shop):
    process = _start(["search", shop / "collection.thpi", "-", "-k", "1"])
    assert process.stdin is not None
    # More than a pipe holds: once this is written, the command has begun to read.
    process.stdin.write((str([0.0] * 64) + " " * 2000 + "\n") * 200)
    process.stdin.flush()
    assert _interrupt(process) == 130


@pytest.mark.parametrize("command", ["build", "add", "remove"])
def test_at_any_moment_the_collection_is_whole_or_not_there(tmp_path, command):
    """Interrupted at moments spread over the run: the old content or the new one, nothing else, nothing beside it."""
    n = 60_000
    X = np.random.RandomState(0).standard_normal((n, 8))
    np.save(tmp_path / "rows.npy", X)
    (tmp_path / "ids.txt").write_text("\n".join(map(str, range(10, 10 + n))))
    small, large = tmp_path / "small.thpi", tmp_path / "large.thpi"
    thpi.build(small, X[:1000], hasher=thpi.LSH(8, random_state=0), ids=range(-1000, 0)).close()
    outcomes = set()
    if command == "remove":
        shutil.copy(small, large)
        with thpi.open(large) as made:
            made.add(X, range(10, 10 + n))
    for wait in (0.4, 0.8, 1.2):
        folder = tmp_path / f"{wait}"
        folder.mkdir()
        path = folder / "out.thpi"
        arguments: list[object] = ["build", path, tmp_path / "rows.npy", "--method", "LSH", "--bits", 8]
        if command == "add":
            shutil.copy(small, path)
            arguments = ["add", path, tmp_path / "rows.npy", "--id", tmp_path / "ids.txt"]
        if command == "remove":
            shutil.copy(large, path)
            arguments = ["remove", path, "--from", tmp_path / "ids.txt"]
        process = _start(arguments)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            assert _interrupt(process) in (0, 130)  # 0 where all work was done
        else:
            process.communicate()
            assert process.returncode == 0
        assert set(folder.iterdir()) <= {path}
        outcomes.add(_size(path))
    assert outcomes <= ({None, n} if command == "build" else {1000, n + 1000})


# The first line of the program does what the second does: the interrupt must not come before either.
_FIRST = """
import os, signal
signal.signal(signal.SIGINT, lambda *_: os._exit(130))
from thpi.__main__ import main
print("begun", flush=True)
main()
"""


def test_from_the_first_moment_to_the_last(shop):
    """In the imports, in the work, or when Python ends: exit code 130, or 0 where all work was done; no traceback."""
    command = [sys.executable, "-c", _FIRST, "info", str(shop / "collection.thpi")]
    codes = set()
    for wait in (*np.linspace(0, 0.05, 6), *np.linspace(0.06, 1, 12)):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "begun\n"
            time.sleep(wait)
            codes.add(_interrupt(process))
    assert codes <= {0, 130}
    assert 130 in codes


_LAST = """
import atexit, signal, sys, threading, time
from thpi._signals import run_program

class Late:  # goes with the last modules, when Python no longer handles signals itself
    def __del__(self, interrupt=signal.raise_signal, number=signal.SIGINT, show=sys.stdout.write, end=sys.stdout.flush):
        interrupt(number)
        show("all done")
        end()

def program():
    if sys.argv[1] == "exit functions":
        atexit.register(signal.raise_signal, signal.SIGINT)
    elif sys.argv[1] == "modules":
        sys.late = Late()
    else:
        threading.Thread(target=time.sleep, args=(30,)).start()
        threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
    return 7

run_program(lambda: program)
"""


@pytest.mark.parametrize("at", ["threads", "exit functions", "modules"])
def test_when_python_ends(at):
    """The work is done: the exit code stays, and nothing is waited for."""
    found = subprocess.run([sys.executable, "-c", _LAST, at], capture_output=True, text=True, timeout=20)
    assert (found.returncode, found.stderr) == (7, "")
    assert found.stdout == ("all done" if at == "modules" else "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_an_output_is_written_it_is_held_back_not_lost(tmp_path, number):
    program = """
import sys, time
from pathlib import Path
from thpi._signals import run_program
from thpi._signals import uninterrupted
def program():
    with uninterrupted():
        print("begun", flush=True)
        time.sleep(1)
        Path(sys.argv[1]).write_text("whole")
    time.sleep(20)
    return 0
run_program(lambda: program)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "output")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        assert process.wait(10) == (130 if number == signal.SIGINT else -signal.SIGTERM)
    assert (tmp_path / "output").read_text() == "whole"


_LOST = """
import signal, sys, time, weakref
from thpi._signals import resend_lost_interrupts

if sys.argv[1] == "with":
    resend_lost_interrupts()

class Thing: pass

def callback(_):
    signal.raise_signal(signal.SIGINT)
    len(str())  # the interrupt is raised here at the latest

thing = Thing()
reference = weakref.ref(thing, callback)
try:
    del thing
    print("gone on", flush=True)
    time.sleep(20 if sys.argv[1] == "with" else 0)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("repair", ["with", "without"])
def test_in_a_callback_that_cannot_raise(repair):
    """Python alone loses such an interrupt with a traceback; here it comes again, outside of the callback."""
    found = subprocess.run([sys.executable, "-c", _LOST, repair], capture_output=True, text=True, timeout=15)
    assert found.stdout == "gone on\n"  # nobody could catch it in the callback
    assert (found.returncode, found.stderr) == (130, "") if repair == "with" else "Traceback" in found.stderr


_AT_THE_END = """
import sys
from thpi._signals import resend_lost_interrupts

resend_lost_interrupts()
print("x" * 65536, end="", flush=True)  # fills the pipe
print("begun", file=sys.stderr, flush=True)
print("y" * 100, end="")  # stays in the buffer until Python closes the file at its end, and waits for the reader
"""


def test_when_python_closes_its_files():
    """The work is done: no traceback, and above all no waiting for a thread that cannot start any more."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen(
        [sys.executable, "-c", _AT_THE_END], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    time.sleep(0.5)  # by then it hangs in the last flush, or is about to
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    try:
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert out.startswith("x" * 65536)
    assert "Traceback" not in err


_OTHER_ERROR = """
from thpi._signals import resend_lost_interrupts

class Thing:
    def __del__(self):
        1 / 0

resend_lost_interrupts()
Thing()
"""


def test_other_errors_that_cannot_be_raised_are_still_shown():
    found = subprocess.run([sys.executable, "-c", _OTHER_ERROR], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (0, "")
    assert "ZeroDivisionError" in found.stderr


def _size(path: Path) -> int | None:
    if not path.exists():
        return None
    with thpi.open(path) as made:
        made.check()
        return len(made)
