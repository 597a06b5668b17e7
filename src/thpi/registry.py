"""All methods and all meanings of "relevant" by name; methods and meanings from outside are added here.

>>> list(HASHERS)[:4], list(RELEVANCES)
(['LSH', 'SpectralHashing', 'DSH', 'ITQ'], ['target', 'source', 'labels', 'groups'])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thpi import model_file
from thpi._types import PathLike
from thpi.auto import OFFERED, RELEVANCES, AutoHasher, Candidate
from thpi.base import BaseHasher
from thpi.hashers import METHODS

__all__ = ["HASHERS", "RELEVANCES", "load", "needs", "register", "unregister"]

HASHERS: dict[str, type[BaseHasher]] = {method.__name__: method for method in METHODS} | {"AutoHasher": AutoHasher}
"""Every method by its name, from the plainest to the one that chooses."""


def load(path: PathLike | bytes) -> BaseHasher:
    """Read a fitted hasher from the file that its ``save`` wrote, or its bytes; see :mod:`thpi.model_file`.

    Raises ``FileNotFoundError``, or ``ModelFileError`` if the file is truncated, altered or foreign.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import thpi
    >>> X = np.random.RandomState(0).standard_normal((20, 5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     thpi.ITQ(n_bits=4, random_state=0).fit(X).save(Path(folder) / "shop.thpi")
    ...     hasher = load(Path(folder) / "shop.thpi")
    >>> hasher
    ITQ(n_bits=4, random_state=0)
    """
    return model_file.load(path, HASHERS)


def register(method: type[BaseHasher], candidates: Mapping[str, Sequence[Mapping[str, Any]]] | None = None) -> None:
    """Add a method, so that commands, model files and AutoHasher know it.

    ``candidates`` are the parameters with which :class:`thpi.AutoHasher` tries it, by the name of a relevance. It is
    tried with the source if it uses one. Only a linear hash function, ``sgn((x - mean_) projection_)``, can be tried.

    >>> import thpi
    >>> class Signs(thpi.LSH):
    ...     summary = "signs of random projections"
    >>> register(Signs, candidates={"target": [{}]})
    >>> from thpi.auto import candidates
    >>> str(candidates("target")[-2])
    'Signs without source'
    >>> unregister("Signs")
    """
    name = method.__name__
    if name in HASHERS:
        raise ValueError(f"a method {name!r} is registered already.")
    if not method.summary:
        raise ValueError(f"{name}.summary is empty; it must describe the method in one line.")
    offered = candidates or {}
    if unknown := [relevance for relevance in offered if relevance not in RELEVANCES]:
        raise ValueError(f"candidates has {unknown[0]!r}; it must be one of {', '.join(RELEVANCES)}.")
    for own in ("_project", "_hash_function"):
        if offered and getattr(method, own) is not getattr(BaseHasher, own):
            raise ValueError(f"{name} overrides {own}; candidates of AutoHasher must be linear hash functions.")
    HASHERS[name] = method
    for relevance, settings in offered.items():
        uses_source = method.needs_privileged or method.uses_source
        found = [Candidate(method, dict(params), uses_source=uses_source) for params in settings]
        OFFERED.setdefault(relevance, []).extend(found)


def unregister(name: str) -> None:
    """Remove a method that was registered from outside."""
    method = HASHERS.pop(name)
    for offered in OFFERED.values():
        offered[:] = [candidate for candidate in offered if candidate.method is not method]


def needs(method: type[BaseHasher]) -> str:
    """What a method is fitted on, for tables.

    >>> needs(HASHERS["LSH"]), needs(HASHERS["LapITQPlus"]), needs(HASHERS["ClassITQ"])
    ('target', 'pairs; optional: source', 'target; optional: labels, pairs, source, more target rows')
    """
    used = {
        "labels": method.uses_labels,
        "pairs": method.uses_source and not method.needs_privileged,
        "source": method.uses_source,
        "more target rows": method.uses_target,
    }
    required, optional = "pairs" if method.needs_privileged else "target", [word for word in used if used[word]]
    return f"{required}; optional: {', '.join(optional)}" if optional else required
