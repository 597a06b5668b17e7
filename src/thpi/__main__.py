"""``python -m thpi``, and the ``thpi`` script: the commands, imported once Ctrl-C is in good hands."""

from __future__ import annotations

from collections.abc import Callable

from thpi._signals import run_program


def main() -> None:
    """Run the command line."""
    run_program(_load)


def _load() -> Callable[[], int]:
    from thpi.cli import load

    return load()


if __name__ == "__main__":
    main()
