"""Collection: one file that holds a model, items with their codes, and where everything came from."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from thpi._types import Array, Codes, Ints, MatrixLike, PathLike
from thpi.codes import check_codes
from thpi.collection._file import CollectionFile, CollectionFileError, Details, Page, State, named_errors
from thpi.identity import check_fingerprint, check_same_model
from thpi.index import HammingIndex, IdsLike, Neighbours, Order, check_ids, number_on

if TYPE_CHECKING:
    from thpi.base import BaseHasher
    from thpi.encoder import Coding, Encoder
    from thpi.evaluation import Assessment

T = TypeVar("T")
_NONE = np.empty(0, dtype=np.int64)


def open(path: PathLike, *, wait: float = 5.0) -> Collection:
    """Open a collection that :func:`thpi.build` made.

    ``wait`` is how many seconds a change waits for another process that is changing the file. Raises
    ``FileNotFoundError``, or ``CollectionFileError`` if the file is foreign, altered or damaged.
    """
    return Collection(path, wait=wait)


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
    index : HammingIndex
        The items in memory, to search them; it is changed by changing the collection.
    version : str
        What the collection holds, 16 hexadecimal digits; another one after each change.

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
        self.path = Path(os.path.realpath(path))
        self.about: dict[str, Any] = {}
        self.index = HammingIndex(1)
        self._hasher: Encoder | BaseHasher | None = None
        self._numbers: dict[int, Ints] = {}  # of the items in memory, by page
        self._state: State | None = None  # of the pages in memory; None if these must be read anew
        self._seen: int | None = None  # the change of the file that memory has; None while it is taken over
        self.version: str
        with self._held():
            self._file = CollectionFile(path, wait=wait)
            try:
                with self._file.transaction():
                    self._catch_up()
            except BaseException:
                self._file.close()
                raise

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[tuple[int | str, Codes]]:
        return iter(self._settled())

    def __contains__(self, item: object) -> bool:
        return item in self._settled()

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
        return self._settled().ids

    @property
    def hasher(self) -> Encoder | BaseHasher:
        """The hash function: codes rows of either side."""
        found = self._hasher
        if found is None:
            from thpi.encoder import load_encoder

            # Within a transaction: the model and the codes of one moment.
            with self._held(), self._file.transaction():
                self._catch_up()
                found = self._read_model(load_encoder)
                if found.fingerprint_ != self.model:
                    raise CollectionFileError("its model is not the one that made its codes.")
                self._hasher = found
        return found

    @property
    def evidence(self) -> dict[str, Any]:
        """What was found when the collection was built, as JSON has it."""
        with self._held():
            return self._file.read_json("evidence")

    def estimator(self) -> BaseHasher:
        """Return the estimator that learned the hash function, with everything it found."""
        from thpi.registry import load

        with self._held():
            return self._read_model(load)

    def _read_model(self, load: Callable[[bytes], T]) -> T:
        from thpi.model_file import ModelFileError

        try:
            return load(self._file.read_part("model"))
        except ModelFileError as error:
            raise CollectionFileError(str(error)) from None

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
        index, hasher = self.index, self.hasher
        while index is not self.index:  # another model has just taken its place
            index, hasher = self.index, self.hasher
        return index.search(hasher.decision_function(queries), k, order=order, check=check)  # type: ignore[arg-type]

    def search_codes(
        self,
        queries: npt.ArrayLike,
        k: int = 10,
        *,
        order: Order | None = None,
        check: Callable[[], None] | None = None,
    ) -> Neighbours:
        """Search by packed codes (integers) or by projections (floating-point numbers) in place of rows."""
        return self.index.search(queries, k, order=order, check=check)

    def codes_of(self, ids: IdsLike) -> Codes:
        """Return the codes of ``ids``; an unknown id is a ``KeyError`` that names it."""
        return self._settled().get_codes(ids)

    def details(self, id: int | str) -> Details:
        """Return text and picture of an item."""
        with self._held():
            item = check_ids([id]).tolist()[0]
            try:
                return self._file.details_of(item)
            except KeyError as error:
                raise self._missing(error.args[0]) from None

    def _missing(self, item: int | str) -> Exception:
        """Return the error for an item that the file does not have: it is unknown, unless memory is up to date."""
        if item in self.index and self._file.changed_by_others == self._seen:
            return CollectionFileError(f"its item {item!r} was altered.")
        return KeyError(f"ids={item!r} is not among the items.")

    def texts(self) -> list[str | None]:
        """Return the texts of all items, in the order of ``ids``."""
        with self._held(), self._file.transaction():
            self._catch_up()
            return [shown.text for shown in self._file.all_details(self.index.ids.tolist())]

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
        with self._changing() as state:
            if model is not None:  # another process may have put another model in its place
                check_same_model(("the collection", self.model), ("the codes", model))
            packed, known = check_codes(packed, n_bits=self.n_bits), self.index
            if ids is None:
                checked = number_on(known.ids, len(packed))
            else:
                checked = check_ids(ids, length=len(packed), kind=known.id_kind, unique=True)
            if len(packed):
                self._file.insert(state, checked, packed, details, self.n_bits)
        return checked

    def remove(self, ids: IdsLike) -> None:
        """Remove items, all or none; an unknown id is a ``KeyError`` that names it."""
        with self._changing() as state:
            checked = check_ids(ids, kind=self.index.id_kind, unique=True)
            try:
                if len(checked):
                    self._file.delete(state, checked, self.n_bits)
            except KeyError as error:
                raise self._missing(error.args[0]) from None

    def replace(self, hasher: BaseHasher, codes: npt.ArrayLike, ids: IdsLike, **about: Any) -> None:
        """Put another model in place of this one, with new codes of all items, in one transaction.

        Texts and pictures of items stay. ``about`` and ``evidence`` are given as keywords.
        """
        from thpi.model_file import encode

        packed, checked = check_codes(codes, n_bits=hasher.n_bits), check_ids(ids, unique=True)
        evidence = about.pop("evidence", {})
        with self._changing() as state:
            kept = self.index.ids
            if missing := set(kept.tolist()) ^ set(checked.tolist()):
                raise ValueError(f"ids: {min(missing, key=str)!r} must be in the collection and have a new code.")
            order = {item: at for at, item in enumerate(checked.tolist())}
            at = np.array([order[item] for item in kept.tolist()], dtype=np.int64)
            details = list(self._file.all_details(kept.tolist()))
            self._file.clear(state)
            self._file.insert(state, kept, packed[at], details, hasher.n_bits)
            known = self.about | about | {"n_bits": hasher.n_bits, "fingerprint": hasher.fingerprint_}
            for name, part in (("model", encode(hasher)), ("about", known), ("evidence", evidence)):
                self._file.write_part(name, part)
            self._state = self._seen = None  # everything is read anew

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

        Searches that run finish on what they began with. If the file is damaged, the error is raised, and searches go
        on with what there was.
        """
        before = self.version
        with self._opened():
            return self.version != before

    def check(self) -> None:
        """Read and compare everything that the file holds; ``CollectionFileError`` if anything was altered."""
        with self._held(), self._file.transaction():
            self._file.check(self.n_bits)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Let no other thread use the file, and name it in errors."""
        with self._lock, named_errors(self.path):
            yield

    @contextmanager
    def _opened(self, *, change: bool = False) -> Iterator[None]:
        """Hold the file that has the name now, with its items in memory."""
        with self._held():
            file = self._file.current()
            if file is not self._file:
                self._file.close()
                self._file, self._seen, self._state = file, None, None
            with self._file.transaction(change=change):
                self._catch_up()
                yield

    @contextmanager
    def _changing(self) -> Iterator[State]:
        """Hold the lock of the file for a change, which brings the state that is given along."""
        with self._lock:
            with self._opened(change=True):
                assert self._state is not None
                changed = State({**self._state.digests}, self._state.next)
                yield changed
                before, self._seen = self._seen, None  # until memory has the change
            with self._held(), self._file.transaction():
                self._catch_up((before, changed))

    def _settled(self) -> HammingIndex:
        """Return the items in memory, after a change that was broken off as the file has them."""
        if self._seen is None:
            self.refresh()
        return self.index

    def _catch_up(self, ours: tuple[int | None, State] | None = None) -> None:
        """Take over the file within a transaction: everything if the model is another, else pages that differ.

        ``ours`` is what was seen before a change of our own, and the state after it.
        """
        seen = self._file.changed_by_others
        if seen == self._seen:
            return
        self._seen, index, known = None, self.index, self._state
        if ours is not None and ours[0] == seen:
            state, about = ours[1], self.about
        else:
            state, about = self._file.read_state(), self._file.read_json("about")
        try:
            if known is None or about != self.about:
                check_fingerprint(about["fingerprint"])
                index, known, self._numbers = HammingIndex(about["n_bits"], about["recall"]), State({}, 0), {}
            self._state = None
            self._take_over(index, known, state)
        except CollectionFileError:
            raise
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise CollectionFileError(f"its parts do not fit each other ({error}).") from None
        if index is not self.index:
            self._hasher = None  # before the index: a search compares it to know that it has both of one model
            self.index, self.about = index, about
        self._state, self._seen, self.version = state, seen, state.version[:16]

    def _take_over(self, index: HammingIndex, old: State, new: State) -> None:
        """Bring items from a state to another: in pages that differ, some are gone or were added behind all others."""
        numbers, gone, added, start = dict[int, Ints](), [_NONE], list[Page](), 0
        for number in sorted(old.digests.keys() | new.digests.keys()):
            before = self._numbers.get(number, _NONE)
            if old.digests.get(number) == new.digests.get(number):
                numbers[number] = before
            elif number not in new.digests:
                gone.append(np.arange(start, start + len(before)))
            else:
                page = self._file.read_page(number, index.n_bits)
                numbers[number] = page.numbers
                if len(before):
                    gone.append(start + np.flatnonzero(~np.isin(before, page.numbers)))
                    page = page.only(page.numbers > before[-1])  # no number is given twice
                added.append(page)
            start += len(before)
        index.remove_at(np.concatenate(gone))
        if added:
            if len({ids.dtype for ids in (index.ids, *(page.ids for page in added)) if len(ids)}) > 1:
                raise CollectionFileError("its ids are of two kinds.")
            index.extend([page.codes for page in added], [page.ids for page in added])
        self._numbers = numbers
