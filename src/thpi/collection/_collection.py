"""Collection: one file that holds a model, items with their codes, and where everything came from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, Ints, MatrixLike, PathLike
from thpi.codes import check_codes, n_bytes
from thpi.collection._file import LENGTH, CollectionFile, CollectionFileError, Details, parsed_ids
from thpi.encoder import Coding, Encoder, load_encoder
from thpi.identity import check_fingerprint, check_same_model
from thpi.index import HammingIndex, IdKind, IdsLike, Neighbours, Order, check_ids, number_on
from thpi.model_file import ModelFileError

if TYPE_CHECKING:
    from thpi.base import BaseHasher
    from thpi.evaluation import Assessment


def open(path: PathLike, *, wait: float = 5.0) -> Collection:
    """Open a collection that :func:`thpi.build` made.

    ``wait`` is how many seconds a change waits for another process that is changing the file. Raises
    ``FileNotFoundError``, or ``CollectionFileError`` if the file is foreign, altered or damaged.
    """
    return Collection(path, wait=wait)


class _Names(NamedTuple):
    """Numbers of all items, rising, and their ids."""

    numbers: Ints
    ids: Array

    def places(self, numbers: Ints) -> Ints:
        """Where the numbers are; -1 for those that are not there."""
        at = np.minimum(np.searchsorted(self.numbers, numbers), max(0, len(self.numbers) - 1))
        return np.where(self.numbers[at] == numbers, at, -1) if len(self.numbers) else np.full(numbers.shape, -1)


class _Memory:
    """The items of one file: an index of their codes by number, and the ids of each page, parsed when asked for.

    A number has one item for good. So a search may name what it found while others change the items.
    """

    def __init__(self, index: HammingIndex, texts: dict[int, str]) -> None:
        self.index, self.texts = index, texts
        self._parsed: dict[int, Array] = {}
        self.latest = _Names(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        self._is_latest = False

    @property
    def id_kind(self) -> IdKind | None:
        """The kind of the ids, None if there are none."""
        first = next(iter(self.texts.values()), None)
        return None if first is None else "string" if first.startswith('["') else "int64"

    @classmethod
    def read(cls, file: CollectionFile, n_bits: int, recall: float | None, digests: dict[int, str]) -> _Memory:
        pages = {number: file.read_page(number, n_bits) for number in digests}
        nothing = np.empty(0, dtype=np.int64), np.empty((0, n_bytes(n_bits)), dtype=np.uint8)
        numbers = np.concatenate([nothing[0], *(page.numbers for page in pages.values())])
        codes = np.concatenate([nothing[1], *(page.codes for page in pages.values())])
        index = HammingIndex.of(codes, numbers, n_bits, recall)
        return cls(index, {number: page.ids for number, page in pages.items()})

    def take_over(self, file: CollectionFile, number: int, there: bool) -> None:
        """Take over a page that has changed: items are gone from it, or were added behind all others."""
        page = file.read_page(number, self.index.n_bits) if there else None
        numbers = np.empty(0, dtype=np.int64) if page is None else page.numbers
        known = self.index.ids
        known = known[slice(*np.searchsorted(known, [number * LENGTH, (number + 1) * LENGTH]))]
        self.index.remove(np.setdiff1d(known, numbers))
        self._parsed.pop(number, None)
        self.texts.pop(number, None)
        if page is not None:
            new = ~np.isin(numbers, known)
            self.index.add(page.codes[new], numbers[new])
            self.texts[number] = page.ids
        self._is_latest = False

    def names(self) -> _Names:
        """Ids by number. Only one thread at a time may call it; others look into ``latest``."""
        if not self._is_latest:
            for page in self.texts.keys() - self._parsed.keys():
                self._parsed[page] = parsed_ids(self.texts[page])
            parts = [self._parsed[page] for page in sorted(self._parsed)]
            ids = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
            if len(ids) != len(self.index) or len({part.dtype for part in parts}) > 1:
                raise CollectionFileError(f"its ids are not those of {len(self.index)} items.")
            self.latest, self._is_latest = _Names(self.index.ids, ids), True
        return self.latest


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
        self._memory: _Memory
        self._hasher: Encoder | BaseHasher | None = None
        self._digests: dict[int, str] | None = None  # of the pages in memory; None if they are of another file
        self._seen: int | None = None  # the state of the file that is in memory; None while that is being changed
        self.version: str
        try:
            with self._named_errors():
                self._load()
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[tuple[int | str, Codes]]:
        with self._lock, self._named_errors():
            memory = self._settled()
            ids, codes = memory.names().ids.tolist(), memory.index.codes
        return zip(ids, codes, strict=True)

    def __contains__(self, item: object) -> bool:
        try:
            self.codes_of([item])
        except CollectionFileError:
            raise
        except (KeyError, ValueError):
            return False
        return True

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
    def index(self) -> HammingIndex:
        """The codes, searched in memory, by the numbers that items have in the file."""
        return self._memory.index

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
        with self._lock, self._named_errors():
            return self._settled().names().ids

    @property
    def hasher(self) -> Encoder | BaseHasher:
        """The hash function: codes rows of either side."""
        found = self._hasher
        if found is None:
            # Locked, so that no thread keeps the model that another one is replacing.
            with self._lock, self._named_errors():
                found = load_encoder(self._file.read_part("model"))
                if found.fingerprint_ != self.model:
                    raise CollectionFileError("its model is not the one that made its codes.")
                self._hasher = found
        return found

    @property
    def evidence(self) -> dict[str, Any]:
        """What was found when the collection was built, as JSON has it."""
        with self._lock, self._named_errors():
            return self._file.read_json("evidence")

    def estimator(self) -> BaseHasher:
        """Return the estimator that learned the hash function, with everything it found."""
        from thpi.registry import load

        with self._lock, self._named_errors():
            return load(self._file.read_part("model"))

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
        memory = self._memory
        found = memory.index.search(queries, k, order=order, check=check)
        names = memory.latest
        places = names.places(found.ids)
        if (places < 0).any():  # items were added or removed since the names were made
            with self._lock, self._named_errors():
                memory = self._settled()
                found, names = memory.index.search(queries, k, order=order, check=check), memory.names()
                places = names.places(found.ids)
        return Neighbours(found.distances, names.ids[places])

    def codes_of(self, ids: IdsLike) -> Codes:
        """Return the codes of ``ids``; an unknown id is a ``KeyError`` that names it."""
        with self._lock, self._named_errors():
            return self._settled().index.get_codes(self._numbers(check_ids(ids)))

    def details(self, id: int | str) -> Details:
        """Return text and picture of an item."""
        with self._lock, self._named_errors():
            return self._file.details_of(int(self._numbers(check_ids([id]))[0]), id)

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
        """Add codes that this model made; its fingerprint is compared with ``model``, if that is given."""
        packed = check_codes(codes, n_bits=self.n_bits)
        if details is not None and len(details) != len(packed):
            raise ValueError(f"details has {len(details)} entries for {len(packed)} items.")
        with self._changing() as kind:
            if model is not None:  # another process may have put another model in its place
                check_same_model(("the collection", self.model), ("the codes", model))
            packed = check_codes(packed, n_bits=self.n_bits)
            if ids is None:
                checked = number_on(len(packed), kind, lambda: self._file.largest_id() + 1)
            else:
                checked = check_ids(ids, length=len(packed), kind=kind, unique=True)
            if known := self._file.numbers_of(checked.tolist()):
                raise ValueError(f"ids={next(iter(known))!r} is in the collection already; remove it first.")
            if len(packed):
                self._file.insert(checked, packed, details, self.n_bits)
        return checked

    def remove(self, ids: IdsLike) -> None:
        """Remove items, all or none; an unknown id is a ``KeyError`` that names it."""
        with self._changing() as kind:
            checked = check_ids(ids, kind=kind, unique=True)
            if len(checked):
                self._file.delete(self._numbers(checked), self.n_bits)

    def replace(self, hasher: BaseHasher, codes: npt.ArrayLike, ids: IdsLike, **about: Any) -> None:
        """Put another model in place of this one, with new codes of all items, in one transaction.

        Texts and pictures of items stay. ``about`` and ``evidence`` are given as keywords.
        """
        from thpi.model_file import encode

        packed, checked = check_codes(codes, n_bits=hasher.n_bits), check_ids(ids, unique=True)
        evidence = about.pop("evidence", {})
        with self._changing():
            kept = self.ids
            if missing := set(kept.tolist()) ^ set(checked.tolist()):
                raise ValueError(f"ids: {min(missing, key=str)!r} must be in the collection and have a new code.")
            order = {item: at for at, item in enumerate(checked.tolist())}
            at = np.array([order[item] for item in kept.tolist()], dtype=np.int64)
            numbers = self._memory.index.ids.tolist()
            details = [self._file.details_of(*each) for each in zip(numbers, kept.tolist(), strict=True)]
            self._file.clear()
            self._file.insert(kept, packed[at], details, hasher.n_bits)
            known = self.about | about | {"n_bits": hasher.n_bits, "fingerprint": hasher.fingerprint_}
            for name, part in (("model", encode(hasher)), ("about", known), ("evidence", evidence)):
                self._file.write_part(name, part)

    def evaluate(
        self, X: MatrixLike, y: Any = None, *, privileged: MatrixLike | None = None, **options: Any
    ) -> Assessment:
        """Measure how well the model retrieves among rows of items, which need not be in the collection.

        ``y`` are labels of the rows, and ``privileged`` their source rows. See :func:`thpi.evaluation.assess_rows` for
        ``queries``, ``relevance`` and further options.
        """
        from thpi.evaluation import Judged, assess_rows

        return assess_rows(self.hasher, Judged(X, y, privileged), **options)  # type: ignore[arg-type]

    def refresh(self) -> bool:
        """Take over what others have changed in the file; return whether anything did change.

        Searches that run finish on what they began with. If the file is damaged, the error is raised, and the
        collection stays as it was.
        """
        with self._lock, self._named_errors():
            before = self.version
            self._reopen()
            if self._file.changed_by_others != self._seen:
                self._load()
            return self.version != before

    def check(self) -> None:
        """Read and compare everything that the file holds; ``CollectionFileError`` if anything was altered."""
        with self._lock, self._named_errors(), self._file.reading():
            self._file.check(self.n_bits)

    def _numbers(self, ids: Array) -> Ints:
        """Return the numbers of ids; what others have just added is unknown."""
        values, names = ids.tolist(), self._settled().names()
        found = self._file.numbers_of(values)
        numbers = np.array([found.get(item, -1) for item in values], dtype=np.int64)
        for item, place in zip(values, names.places(numbers).tolist(), strict=True):
            # The digests of the pages speak for their ids; nothing speaks for the table.
            if (place >= 0 and names.ids[place] != item) or (place < 0 and (names.ids == item).any()):
                raise CollectionFileError(f"its item {item!r} was altered.")
            if place < 0:
                raise KeyError(f"ids={item!r} is not in the collection.")
        return numbers

    @contextmanager
    def _changing(self) -> Iterator[IdKind | None]:
        """Hold the lock of the file for a change; yield the kind of the ids that are there."""
        with self._lock, self._named_errors():
            self._reopen()
            with self._file.writing():
                self._catch_up()
                yield self._memory.id_kind
                self._seen = None  # until memory has the change
            self._load()

    def _settled(self) -> _Memory:
        """Return the items in memory, after a change that was broken off as the file has them."""
        if self._seen is None:
            self._load()
        return self._memory

    def _reopen(self) -> None:
        """Turn to the file that has the name now, if it was replaced."""
        file = self._file.current()
        if file is not self._file:
            self._file.close()
            self._file, self._seen, self._digests = file, None, None

    def _load(self) -> None:
        """Take over the file as it is now."""
        with self._file.reading():
            self._catch_up()

    def _catch_up(self) -> None:
        """Take over the file within a transaction: everything if the model is another, else pages that differ."""
        seen = self._file.changed_by_others
        if seen == self._seen:
            return
        self._seen, state, about = None, self._file.read_state(), self._file.read_json("about")
        if self._digests is None or self.about != about:
            try:
                memory = _Memory.read(self._file, about["n_bits"], about["recall"], state.digests)
                check_fingerprint(about["fingerprint"])
            except CollectionFileError:
                raise
            except (KeyError, ValueError, TypeError, OverflowError) as error:
                raise CollectionFileError(f"its part 'about' is not that of a collection ({error}).") from None
            self._memory, self.about, self._hasher = memory, about, None
        else:
            before, after = self._digests.items(), state.digests.items()
            for number in sorted({page for page, _ in before ^ after}):
                self._memory.take_over(self._file, number, number in state.digests)
        self._digests, self._seen, self.version = state.digests, seen, state.version[:16]

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Name the file in errors about its content."""
        try:
            yield
        except (CollectionFileError, ModelFileError) as error:
            text = str(error)
            named = text if text.startswith(repr(str(self.path))) else f"{str(self.path)!r} is damaged: {text}"
            raise CollectionFileError(named) from None
