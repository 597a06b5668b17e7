"""The table of methods as Markdown, for the README and the documentation. ``python -m tools.methods_table``."""

from __future__ import annotations

from thpi.registry import HASHERS, needs


def methods_table() -> str:
    """Return the table.

    >>> print(methods_table().splitlines()[2])
    | `LSH` | Gaussian random projections of centred data | target |
    """
    rows = [f"| `{name}` | {method.summary} | {needs(method)} |" for name, method in HASHERS.items()]
    return "\n".join(["| class | what it does | needs |", "|---|---|---|", *rows])


if __name__ == "__main__":
    print(methods_table())
