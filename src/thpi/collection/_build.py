"""Building a collection: learn, code, and write everything into one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples as len_of

from thpi._files import atomic_path
from thpi._types import Array, Codes, MatrixLike, PathLike
from thpi.auto import AutoHasher
from thpi.base import BaseHasher, Whole
from thpi.collection._collection import Collection
from thpi.collection._file import CollectionFile, Details, State
from thpi.hashers import ITQ
from thpi.index import IdsLike, check_ids
from thpi.model_file import encode


def build(
    path: PathLike,
    X: MatrixLike,
    y: Any = None,
    *,
    ids: IdsLike | None = None,
    privileged: MatrixLike | None = None,
    source: MatrixLike | Whole | None = None,
    target: MatrixLike | None = None,
    target_ids: IdsLike | None = None,
    hasher: BaseHasher | None = None,
    relevance: str | None = None,
    bits: int = 32,
    recall: float | None = None,
    details: Mapping[Any, Details] | None = None,
    columns: Sequence[str] | None = None,
    source_columns: Sequence[str] | None = None,
    about: Mapping[str, Any] | None = None,
    random_state: int = 0,
    force: bool = False,
    on_step: Callable[[str], None] = lambda text: None,
) -> Collection:
    """Learn a hash function, code the rows, and write a collection; return it, open (see :class:`Collection`).

    With source rows or labels :class:`thpi.AutoHasher` decides by cross-validation whether they help, and what it finds
    becomes the ``evidence`` of the collection. Without either it is :class:`thpi.ITQ`. Tables with ids in both are
    joined with :func:`thpi.pair` first.

    Parameters
    ----------
    path : file to write, for instance "shop.thpi"; it appears when it is complete
    X, y : rows of the items, one per item, and their classes or tags
    ids : ids of the rows of ``X``, 64-bit integers or texts; by default 0, 1, 2, ...
    privileged, source : source rows of the rows of ``X``, and source rows of no item
    target, target_ids : rows of further items, which have no source row, and their ids
    hasher : a method that is not fitted, in place of the default one; it has its own ``n_bits`` and parameters
    relevance : what AutoHasher takes for relevant (:data:`thpi.RELEVANCES`); "labels" with ``y``, else "target"
    bits : length of a code
    recall : allow approximate search with this recall; see :class:`thpi.index.HammingIndex`
    details : text and picture by id
    columns, source_columns : names of the columns of ``X`` and of ``privileged``, if these are plain arrays
    about : further facts for the ``about`` of the collection, as JSON has them, such as the tables
    force : whether to replace an existing file
    """
    if os.path.exists(path) and not force:
        raise FileExistsError(f"path={os.fspath(path)!r} exists already; force=True replaces it.")
    learner = _learner(hasher, relevance, bits, random_state, (privileged is not None, y is not None))
    checked = _item_ids(X, ids, target, target_ids)
    views: dict[str, Any] = {"privileged": privileged, "source": source, "target": target}
    on_step(f"learning with {learner.method_name}")
    learner.fit(X, y, **{name: view for name, view in views.items() if view is not None})
    on_step("coding")
    codes = _code(learner, X, privileged, target)
    _name_columns(learner, columns, source_columns)  # after coding: scikit-learn would warn of rows without names
    on_step("writing")
    write(path, learner, codes, checked, about={"recall": recall} | dict(about or {}), details=details)
    return Collection(path)


def write(
    path: PathLike,
    hasher: BaseHasher,
    codes: Codes,
    ids: IdsLike,
    *,
    about: Mapping[str, Any],
    details: Mapping[Any, Details] | None = None,
) -> None:
    """Write a collection of codes that a fitted ``hasher`` made, in one step."""
    from thpi import __version__

    checked = check_ids(ids, length=len(codes), unique=True)
    known = {"n_bits": hasher.n_bits, "fingerprint": hasher.fingerprint_, "method": hasher.method_name}
    known |= {"title": Path(path).stem, "thpi": __version__, "settings": hasher.get_params(), "recall": None}
    with atomic_path(path) as temporary, CollectionFile.create(temporary) as file:
        file.write_part("model", encode(hasher))
        file.write_part("about", known | dict(about))
        file.write_part("evidence", evidence_of(hasher))
        rows = None if details is None else [details.get(item, Details()) for item in checked.tolist()]
        file.insert(State({}, 0), checked, codes, rows, hasher.n_bits)


def evidence_of(hasher: BaseHasher) -> dict[str, Any]:
    """Return what AutoHasher found: its choice, the gain by the source with its interval, all candidates.

    Of another method there is only its name, and whether it converged.
    """
    facts: dict[str, Any] = {"method": hasher.method_name, "rows": len(hasher.codes_)}
    facts |= {"iterations": int(hasher.n_iter_), "converged": bool(hasher.converged_)}
    if not isinstance(hasher, AutoHasher):
        return facts
    names = ["choice", "choice_params", "uses_source", "gain", "gain_interval", "candidates", "pairs_r2", "relation"]
    names += ["related", "labels_p", "sides"]
    if "sides_gain_" in vars(hasher):
        names += ["sides_gain", "sides_gain_interval"]
    return facts | {"relevance": hasher.relevance} | {name: getattr(hasher, f"{name}_") for name in names}


def _learner(
    hasher: BaseHasher | None, relevance: str | None, bits: int, seed: int, given: tuple[bool, bool]
) -> BaseHasher:
    """The method: what is asked for, else AutoHasher with source rows or labels (``given``), else ITQ."""
    has_source, has_labels = given
    if hasher is not None:
        if relevance is not None:
            raise ValueError(f"relevance={relevance!r} is for the default method; set it in hasher.")
        return hasher
    if has_source or has_labels:
        meaning = relevance or ("labels" if has_labels else "target")
        return AutoHasher(bits, relevance=meaning, random_state=seed)
    if relevance not in (None, "target"):
        raise ValueError(f"relevance={relevance!r} needs source rows (privileged=...) or labels (y).")
    return ITQ(bits, random_state=seed)


def _item_ids(X: Any, ids: Any, target: Any, target_ids: Any) -> Array:
    """Ids of the rows of ``X`` and of ``target``, or numbers."""
    n, more = len_of(X), 0 if target is None else len_of(target)
    if ids is None and target_ids is None:
        return np.arange(n + more)
    if ids is None or (more and target_ids is None):
        raise ValueError("ids and target_ids: either all items have ids, or none.")
    first = check_ids(ids, length=n, unique=True)
    if not more:
        return first
    others = check_ids(target_ids, length=more, kind=None, unique=True)
    return check_ids([*first.tolist(), *others.tolist()], unique=True)


def _code(hasher: BaseHasher, X: Any, privileged: Any, target: Any) -> Codes:
    """Codes of all items; those that have a source row are coded by it if the model is two-sided."""
    codes = np.asarray(hasher.transform_source(privileged) if hasher.is_two_sided else hasher.transform(X))
    return codes if target is None else np.vstack([codes, hasher.transform(target)])


def _name_columns(hasher: BaseHasher, columns: Sequence[str] | None, source_columns: Sequence[str] | None) -> None:
    """Give a model the names of the columns of its rows, so that it finds them in other tables."""
    if columns is not None:
        hasher.feature_names_in_ = np.array(columns, dtype=object)
    if source_columns is not None and hasher.is_two_sided:
        hasher.item_names_ = list(source_columns)
