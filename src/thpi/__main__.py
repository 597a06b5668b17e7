"""``python -m thpi``, and the ``thpi`` script: the commands, imported once Ctrl-C is in good hands."""

from __future__ import annotations

from importlib import import_module

from thpi._signals import run_program


def main() -> None:
    """Run the command line."""
    run_program(lambda: import_module("thpi.cli").load())


if __name__ == "__main__":
    main()
