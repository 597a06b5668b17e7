"""Collection: one file that holds a model, items with their codes, and where everything came from."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, Ints, MatrixLike, PathLike
from thpi.codes import check_codes
from thpi.collection._file import CollectionFile, CollectionFileError
from thpi.collection._items import (
    Details,
    check_rows,
    clear,
    delete,
    details_of,
    insert,
    numbers_of,
    read_digests,
    read_page,
)
from thpi.collection._pages import LENGTH, Page, checked_codes, parsed_ids
from thpi.encoder import Coding, Encoder, load_encoder
from thpi.identity import check_same_model
from thpi.index import HammingIndex, IdsLike, Neighbours, Order, check_ids

if TYPE_CHECKING:
    from thpi.base import BaseHasher


class _Names(NamedTuple):
    """Numbers of all items, rising, and their ids."""

    numbers: Ints
    ids: Array


class Collection:
    """A search engine in one file: a model, items with ids and codes, and where they came from.

    :func:`thpi.build` makes one, and :func:`thpi.open` opens it. Codes are in memory, where they are searched; every
    change is a transaction, on disk when the call returns. Several processes may read and change a collection at the
    same time: :meth:`refresh` takes over what others have changed. Threads may share an object.

    Attributes
    ----------
    path : file of the collection
    about : dict
        ``n_bits``, ``fingerprint``, ``title``, ``recall``, ``settings``, ``tables``, ``thpi`` (version).
    evidence : dict
        What was found when it was built, as JSON has it.

    Examples
    --------
    >>> import tempfile, thpi
    >>> X = np.random.RandomState(0).standard_normal((200, 16))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shop = thpi.build(f"{folder}/shop.thpi", X[:100], bits=16)
    ...     _ = shop.add(X[100:])
    ...     shop.remove([3])
    ...     print(len(shop), shop.search(X[5:6], k=1).ids)
    199 [[5]]
    """

    def __init__(self, path: PathLike, *, wait: float = 5.0) -> None:
        self._lock = threading.RLock()
        self._file = CollectionFile(path, wait=wait)
        self.path = self._file.path
        self.about: dict[str, Any] = {}
        self.index = HammingIndex(1)
        self._hasher: Encoder | BaseHasher | None = None
        self._texts: dict[int, str] = {}
        self._known_names: _Names | None = None
        self._digests: dict[int, str] = {}
        self._seen, self._settled, self._version = 0, False, ""
        try:
            with self._named_errors():
                self._load()
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[tuple[int | str, Codes]]:
        with self._lock:
            ids, codes = self.ids.tolist(), self.index.codes
        return zip(ids, codes, strict=True)

    def __contains__(self, item: object) -> bool:
        with self._lock:
            return isinstance(item, (int, str)) and bool(numbers_of(self._file, [item]))

    def __repr__(self) -> str:
        return f"Collection({str(self.path)!r}): {len(self):,} items, {self.n_bits} bits"

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    @property
    def n_bits(self) -> int:
        """Length of a code."""
        return self.index.n_bits

    @property
    def model(self) -> str:
        """Fingerprint of the model; see :mod:`thpi.identity`."""
        return str(self.about["fingerprint"])

    @property
    def ids(self) -> Array:
        """All ids, in the order in which the items were added: 64-bit integers or texts."""
        return self._names.ids

    @property
    def version(self) -> str:
        """What the collection holds, 16 hexadecimal digits; another one after each change."""
        return self._version

    @property
    def hasher(self) -> Encoder | BaseHasher:
        """The hash function: codes rows of either side."""
        found = self._hasher
        if found is None:
            with self._lock:  # so that no thread keeps the model that another one is replacing
                found = self._hasher = load_encoder(self._part("model"))
        return found

    @property
    def evidence(self) -> dict[str, Any]:
        """What was found when the collection was built."""
        found: dict[str, Any] = json.loads(self._part("evidence"))
        return found

    def estimator(self) -> BaseHasher:
        """Return the estimator that learned the hash function, with everything it found."""
        from thpi.registry import load

        return load(self._part("model"))

    def search(
        self,
        queries: MatrixLike | None = None,
        k: int = 10,
        *,
        id: int | str | None = None,
        order: Order | None = None,
        check: Callable[[], None] | None = None,
    ) -> Neighbours:
        """Return the ``k`` nearest items of each row, or of the item ``id``, which is not its own neighbour.

        Rows are searched by asymmetric distance (``order="hamming"``: by Hamming distance), an item by Hamming
        distance. Items at equal distance come in the order in which they were added.
        """
        if (queries is None) is (id is None):
            raise ValueError("search takes rows or the id of an item, one of the two.")
        if id is not None:
            found = self.search_codes(self.codes_of([id]), k + 1, check=check)
            return found.without(id, k)
        return self.search_codes(self.hasher.decision_function(queries), k, order=order, check=check)  # type: ignore[arg-type]

    def search_codes(
        self,
        queries: npt.ArrayLike,
        k: int = 10,
        *,
        order: Order | None = None,
        check: Callable[[], None] | None = None,
    ) -> Neighbours:
        """Search by packed codes (integers) or by projections (floating-point numbers) in place of rows."""
        found = self._named(self.index.search(queries, k, order=order, check=check))
        if found is None:  # items were removed between the search and now
            with self._lock:
                found = self._named(self.index.search(queries, k, order=order, check=check))
        assert found is not None
        return found

    def radius_search(self, codes: npt.ArrayLike, radius: int) -> list[Neighbours]:
        """Return all items at Hamming distance <= ``radius`` of each code."""
        with self._lock:
            found = [self._named(each) for each in self.index.radius_search(codes, radius)]
        return [each for each in found if each is not None]

    def codes_of(self, ids: IdsLike) -> Codes:
        """Return the codes of ``ids``; an unknown id is a ``KeyError`` that names it."""
        with self._lock, self._named_errors():
            return self.index.get_codes(self._numbers(check_ids(ids)))

    def details(self, id: int | str) -> Details:
        """Return text and picture of an item."""
        with self._lock, self._named_errors():
            return details_of(self._file, id)

    def add(
        self,
        X: MatrixLike,
        ids: IdsLike | None = None,
        *,
        side: str = "target",
        details: Sequence[Details] | None = None,
    ) -> Array:
        """Code rows and add them under new ids, all or none; return the ids. Without ids, they are numbered on.

        Rows are target rows or, with ``side="source"`` and a two-sided model, source rows.
        """
        if side not in ("target", "source"):
            raise ValueError(f"side={side!r} must be 'target' or 'source'.")
        coder: Coding = self.hasher if side == "target" else self.hasher.source_side
        return self.add_codes(coder.transform(X), ids, details=details, model=coder.fingerprint_)

    def add_codes(
        self,
        codes: npt.ArrayLike,
        ids: IdsLike | None = None,
        *,
        details: Sequence[Details] | None = None,
        model: str | None = None,
    ) -> Array:
        """Add codes that this model made, or the ``model`` of this fingerprint, which must be the same."""
        packed = check_codes(codes, n_bits=self.n_bits)
        with self._changing() as kind:
            if model is not None:  # another process may have put another model in its place
                check_same_model(("the collection", self.model), ("the codes", model))
            if ids is None:
                checked = self._next_ids(len(packed), kind)
            else:
                checked = check_ids(ids, length=len(packed), kind=kind, unique=True)
            if details is not None and len(details) != len(packed):
                raise ValueError(f"details has {len(details)} entries for {len(packed)} items.")
            if known := numbers_of(self._file, checked.tolist()):
                raise ValueError(f"ids={next(iter(known))!r} is in the collection already; remove it first.")
            if len(packed):
                insert(self._file, checked, packed, details, self.n_bits)
        return checked

    def remove(self, ids: IdsLike) -> None:
        """Remove items, all or none; an unknown id is a ``KeyError`` that names it."""
        with self._changing() as kind:
            checked = check_ids(ids, kind=kind, unique=True)
            if len(checked):
                delete(self._file, self._numbers(checked), self.n_bits)

    def replace(self, hasher: BaseHasher, codes: npt.ArrayLike, ids: IdsLike, **about: Any) -> None:
        """Put another model in place of this one, with new codes of all items, in one transaction.

        Texts and pictures of items stay. ``about`` and ``evidence`` are given as keywords.
        """
        from thpi.model_file import encode

        packed, checked = check_codes(codes, n_bits=hasher.n_bits), check_ids(ids, unique=True)
        evidence = about.pop("evidence", {})
        with self._changing():
            if missing := set(self.ids.tolist()) ^ set(checked.tolist()):
                raise ValueError(f"ids: {min(missing, key=str)!r} must be in the collection and have a new code.")
            order = {item: at for at, item in enumerate(checked.tolist())}
            at = np.array([order[item] for item in self.ids.tolist()], dtype=np.int64)
            details = [details_of(self._file, item) for item in self.ids.tolist()]
            kept = self.ids
            clear(self._file)
            insert(self._file, kept, packed[at], details, hasher.n_bits)
            changed = self.about | about | {"n_bits": hasher.n_bits, "fingerprint": hasher.fingerprint_}
            write_parts(self._file, encode(hasher), changed, evidence)

    def refresh(self) -> bool:
        """Take over what others have changed in the file; return whether anything did change.

        Searches that run finish on what they began with. If the file is damaged, the error is raised, and the
        collection stays as it was.
        """
        with self._lock, self._named_errors():
            self._reopen()
            if self._settled and self._file.changed_by_others == self._seen:
                return False
            before = self._version
            self._load()
            return self._version != before

    def check(self) -> None:
        """Read and compare everything that the file holds; ``CollectionFileError`` if anything was altered."""
        with self._lock, self._named_errors(), self._file.reading():
            ((found,),) = self._file.execute("PRAGMA integrity_check(1)")
            if found != "ok":
                raise CollectionFileError(f"SQLite finds: {found}.")
            for name in ("about", "evidence", "model"):
                self._file.read_part(name)
            read_digests(self._file)
            check_rows(self._file, self.n_bits)

    def _part(self, name: str) -> bytes:
        with self._lock, self._named_errors():
            return self._file.read_part(name)

    def _named(self, found: Neighbours) -> Neighbours | None:
        """Give the items that a search found their ids; None if one of them is gone."""
        names = self._names
        if not found.ids.size:
            return Neighbours(found.distances, np.empty(found.ids.shape, dtype=names.ids.dtype))
        at = np.minimum(np.searchsorted(names.numbers, found.ids), max(0, len(names.numbers) - 1))
        if not len(names.numbers) or (names.numbers[at] != found.ids).any():
            return None
        return Neighbours(found.distances, names.ids[at])

    @property
    def _names(self) -> _Names:
        names = self._known_names
        if names is None:
            with self._lock, self._named_errors():
                names = _Names(self.index.ids, parsed_ids(list(self._texts.values()), len(self.index)))
                self._known_names = names
        return names

    def _numbers(self, ids: Array) -> Ints:
        values = ids.tolist()
        found = numbers_of(self._file, values)
        for item in values:
            if item not in found:
                raise KeyError(f"ids={item!r} is not in the collection.")
        numbers, names = np.array([found[item] for item in values], dtype=np.int64), self._names
        at = np.minimum(np.searchsorted(names.numbers, numbers), max(0, len(names.numbers) - 1))
        for item, number, place in zip(values, numbers.tolist(), at.tolist(), strict=True):
            if not len(names.numbers) or names.numbers[place] != number:
                raise KeyError(f"ids={item!r} is not in the collection.")  # others have just added it
            if names.ids[place] != item:  # the digest of a page speaks for its ids; nothing speaks for the table
                raise CollectionFileError(f"its item {item!r} was altered.")
        return numbers

    def _next_ids(self, n: int, kind: str | None) -> Array:
        if kind == "string":
            raise ValueError("ids=None numbers the items, but the ids of this collection are texts; pass ids.")
        ((largest,),) = self._file.execute("SELECT max(id) FROM item")
        first = 0 if largest is None else max(0, int(str(largest)) + 1)
        return np.arange(first, first + n, dtype=np.int64)

    @contextmanager
    def _changing(self) -> Iterator[Any]:
        """Hold the lock of the file for a change; yield the kind of the ids that are there."""
        with self._lock, self._named_errors():
            self._reopen()
            with self._file.writing():
                self._catch_up()
                self._settled = False  # until memory has the change
                ((kind,),) = self._file.execute("SELECT typeof(id) FROM item LIMIT 1") or [(None,)]
                yield {"integer": "int64", "text": "string"}.get(str(kind))
            self._load()

    def _reopen(self) -> None:
        """Turn to the file that has the name now, if it was replaced."""
        file = self._file.current()
        if file is not self._file:
            self._file.close()
            self._file, self._settled, self.about = file, False, {}

    def _load(self) -> None:
        """Take over the file as it is now."""
        with self._file.reading():
            self._catch_up()

    def _catch_up(self) -> None:
        """Take over the file within a transaction: everything if the model is another, else pages that differ."""
        seen, state = self._file.changed_by_others, self._file.read_part("state")
        about = json.loads(self._file.read_part("about"))
        digests = read_digests(self._file)
        if self.about != about:
            index, texts = self._read_all(about, digests)
            self._hasher, self.about = None, about
            self.index, self._texts, self._known_names = index, texts, None
        else:
            self._take_over(
                {page for page in {*digests, *self._digests} if digests.get(page) != self._digests.get(page)}, digests
            )
        self._digests, self._seen, self._settled = digests, seen, True
        self._version = str(json.loads(state)["sha256"])[:16]

    def _read_all(self, about: dict[str, Any], digests: dict[int, str]) -> tuple[HammingIndex, dict[int, str]]:
        n_bits = int(about["n_bits"])
        pages = {page: read_page(self._file, page, n_bits) for page in digests}
        index = HammingIndex(n_bits, about.get("recall"))
        if pages:
            numbers = np.concatenate([page.numbers for page in pages.values()])
            index.add(checked_codes(np.concatenate([page.codes for page in pages.values()]), n_bits), numbers)
        return index, {number: page.ids for number, page in pages.items()}

    def _take_over(self, changed: set[int], digests: dict[int, str]) -> None:
        if not changed:
            return
        texts = dict(self._texts)
        for number in sorted(changed):
            page = read_page(self._file, number, self.n_bits) if number in digests else Page.empty(self.n_bits)
            ids = self.index.ids
            low, high = np.searchsorted(ids, [number * LENGTH, (number + 1) * LENGTH])
            gone, new = np.setdiff1d(ids[low:high], page.numbers), ~np.isin(page.numbers, ids[low:high])
            if len(gone):
                self.index.remove(gone)
            if new.any():
                self.index.add(checked_codes(page.codes[new], self.n_bits), page.numbers[new])
            texts.pop(number, None)
            if number in digests:
                texts[number] = page.ids
        self._texts, self._known_names = dict(sorted(texts.items())), None

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Name the file in errors about its content."""
        try:
            yield
        except CollectionFileError as error:
            text = str(error)
            named = text if text.startswith(repr(str(self.path))) else f"{str(self.path)!r} is damaged: {text}"
            raise CollectionFileError(named) from None


def write_parts(file: CollectionFile, model: bytes, about: dict[str, Any], evidence: dict[str, Any]) -> None:
    """Write what is not an item; the caller has a transaction."""
    file.write_part("model", model)
    file.write_part("about", json.dumps(about, sort_keys=True).encode())
    file.write_part("evidence", json.dumps(evidence, sort_keys=True).encode())
