"""Mutation testing: change one operation at a time, and see whether a test fails. ``python -m tools.mutants``.

mutmut makes the mutants, finds the tests that run each of them, forks a pytest for it and keeps the outcomes in
``mutants/``, so that an interrupted run goes on where it stopped. Ours are the choice of operators, of a sample, and
the comparison with `tests/mutants.md`, the list of mutants that are known to survive, with the reason. Delete
``mutants/`` to begin anew, also after a change of the operators or of tests that exist already.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import libcst as cst
from mutmut import __main__ as mutmut
from mutmut.mutation import file_mutation, mutators
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.state import state
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.utils.format_utils import orig_function_and_class_names_from_key

KNOWN = Path("tests/mutants.md")
TARGET = 0.9
SOURCE = Path("src/thpi")
SECONDS = 15.0
KILLED, SURVIVED = {"killed", "timeout", "segfault"}, {"survived", "no tests"}

_PAIRS = [("min", "max"), ("argmin", "argmax"), ("minimum", "maximum"), ("floor", "ceil"), ("any", "all")]
_OPPOSITE = dict(_PAIRS) | {b: a for a, b in _PAIRS}
_FUNCTIONS = {"abs", "sqrt", "square", "exp", "log", "log2", "sign", "sorted", "cumsum"}
_NOT_MATHEMATICS = {"copy", "dtype", "strict"}


def opposite(node: cst.Name) -> Iterator[cst.Name]:
    """Take the largest for the smallest, all for any, and so on."""
    if node.value in _OPPOSITE:
        yield node.with_changes(value=_OPPOSITE[node.value])


def identity(node: cst.Call) -> Iterator[cst.BaseExpression]:
    """Leave out a function: ``np.sqrt(w)`` becomes ``(w)``."""
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    if isinstance(name, cst.Name) and name.value in _FUNCTIONS and len(node.args) == 1:
        yield node.args[0].value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def without_option(node: cst.Call) -> Iterator[cst.Call]:
    """Leave out an argument that is given by its name; the others are nearly always required."""
    for i, argument in enumerate(node.args):
        if argument.keyword is not None and argument.keyword.value not in _NOT_MATHEMATICS:
            yield node.with_changes(args=[*node.args[:i], *node.args[i + 1 :]])


# Not the operators that only ever crash (None in place of a value) or change a text.
OPERATORS: mutators.OPERATORS_TYPE = [
    (cst.BaseNumber, mutators.operator_number),
    (cst.Name, mutators.operator_name),
    (cst.Name, opposite),
    (cst.AugAssign, mutators.operator_augmented_assignment),
    (cst.UnaryOperation, mutators.operator_remove_unary_ops),
    (cst.Call, identity),
    (cst.Call, without_option),
    (cst.CSTNode, mutators.operator_keywords),
    (cst.CSTNode, mutators.operator_swap_op),
    (cst.IfExp, mutators.operator_if_exp),
]


class Mathematics(file_mutation.MutationVisitor):
    """Pass by arguments that mean speed, form or a check."""

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        apart = isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value in _NOT_MATHEMATICS
        return apart or bool(super()._skip_node_and_children(node))


class Mutant(NamedTuple):
    """A mutant by mutmut's name, the file it changes, and what came of it."""

    name: str
    path: Path
    outcome: str

    @property
    def room(self) -> str:
        """The folder or module of the package that it belongs to."""
        return self.path.relative_to(SOURCE).with_suffix("").parts[0]

    @property
    def text(self) -> str:
        """One line that names the change, as it stands in `tests/mutants.md`."""
        function, owner = orig_function_and_class_names_from_key(self.name)
        diff = get_diff_for_mutant(self.name, path=self.path).splitlines()[2:]
        old, new = (" ".join(line[1:].strip() for line in diff if line[0] == sign) for sign in "-+")
        return f"`{self.path.relative_to(SOURCE)}` {owner + '.' if owner else ''}{function}: `{old}` -> `{new}`"


def mutants() -> Iterator[Mutant]:
    """All mutants, with their outcomes so far."""
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for name, code in data.exit_code_by_key.items():
            yield Mutant(name, path, status_by_exit_code[code])


def run(names: list[str]) -> None:
    """Try these mutants on the tests that run the function: those of its file first, then the quickest others."""
    collect = mutmut.collect_or_load_stats

    def collect_and_order(*args: Any, **options: Any) -> None:
        collect(*args, **options)
        seconds = state().duration_by_test
        tests_of = state().tests_by_mangled_function_name
        for function, tests in tests_of.items():
            *_, room, module, _ = function.split(".")
            order = sorted(tests, key=lambda t: (module.strip("_") not in t, room not in t, seconds[t], t))
            spent = accumulate(seconds[test] for test in order)
            few = [test for test, total in zip(order, spent, strict=True) if total <= SECONDS]
            tests_of[function] = few or order[:1]

    mutmut.collect_or_load_stats = collect_and_order
    mutmut._run(names, 1)


def sample(every: Iterable[Mutant], size: int) -> list[Mutant]:
    """``size`` mutants of each room: always the same ones, as long as their functions stay as they are."""
    rooms: dict[str, list[Mutant]] = {}
    for mutant in sorted(every, key=lambda mutant: hashlib.sha256(mutant.name.encode()).digest()):
        rooms.setdefault(mutant.room, []).append(mutant)
    return [mutant for room in rooms.values() for mutant in room[:size]]


def known_survivors() -> dict[str, str]:
    """The reason of each mutant on the list: a line that begins with "- ", its reason on the indented lines below."""
    entries = re.findall(r"^- (.+)\n((?:  .+\n)+)", KNOWN.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {mutant: " ".join(reason.split()) for mutant, reason in entries}


def report(chosen: list[Mutant]) -> bool:
    """Print what came of each room, and what does not agree with the list. Say whether all is well."""
    known = known_survivors()
    alive = {mutant: mutant.text for mutant in chosen if mutant.outcome in SURVIVED}
    print(f"\n{'room':<14}{'tried':>7}{'killed':>8}{'survived':>10}{'equivalent':>12}{'killed of the others':>22}")
    share = 0.0
    for room in [*dict.fromkeys(mutant.room for mutant in chosen), "all"]:
        here = [mutant for mutant in chosen if room in (mutant.room, "all")]
        killed = sum(mutant.outcome in KILLED for mutant in here)
        reasons = [known.get(alive[mutant], "") for mutant in here if mutant in alive]
        equivalent = sum(reason.startswith("Equivalent") for reason in reasons)
        tried = killed + len(reasons)
        share = killed / max(1, tried - equivalent)
        print(f"{room:<14}{tried:>7}{killed:>8}{len(reasons):>10}{equivalent:>12}{share:>22.1%}")
    unlisted = [text for text in alive.values() if text not in known]
    dead = [mutant.text for mutant in chosen if mutant.outcome in KILLED and mutant.text in known]
    untried = sum(mutant.outcome not in KILLED | SURVIVED for mutant in chosen)
    for texts, what in (
        (unlisted, "These survive. Write the test that kills them, or list them with the reason:"),
        (dead, "These are on the list, but a test kills them now. Delete them there:"),
    ):
        if texts:
            print(f"\n{what}", *(f"- {text}" for text in texts), sep="\n")
    if untried:
        print(f"\n{untried} mutants have not been tried. Run it again to go on.")
    return not unlisted and not untried and share >= TARGET


def main() -> int:
    """Try what has no outcome yet, and survivors that are not on the list: a new test may kill them."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description="Do the tests notice wrong code?")
    parser.add_argument("names", nargs="*", help="all mutants of these functions, such as 'thpi.solvers.balance.*'")
    parser.add_argument("--sample", type=int, default=65, help="mutants of each room (default: 65)")
    parser.add_argument("--all", action="store_true", help="every mutant; hours")
    options = parser.parse_args()

    # Neither is part of mutmut's interface, which is why its version is pinned.
    file_mutation.mutation_operators, file_mutation.MutationVisitor = OPERATORS, Mathematics
    Path("mutants").mkdir(exist_ok=True)
    with mutmut.CatchOutput(spinner_title="Making mutants"):
        mutmut.copy_src_dir()
        mutmut.create_mutants(1)

    def chosen() -> list[Mutant]:
        every = list(mutants())
        if options.names:
            return [m for m in every if any(fnmatch.fnmatch(m.name, name) for name in options.names)]
        return every if options.all else sample(every, options.sample)

    known = known_survivors()
    open_ = [m for m in chosen() if m.outcome not in KILLED and not (m.outcome in SURVIVED and m.text in known)]
    print(f"{len(open_)} of {len(chosen())} mutants to try")
    if open_:
        run([mutant.name for mutant in open_])
    return 0 if report(chosen()) else 1


if __name__ == "__main__":
    sys.exit(main())
