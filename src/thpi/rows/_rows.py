"""Rows that are not in memory: what all kinds share, and the kinds that this process reads itself."""

from __future__ import annotations

import mmap
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thpi._types import Array, DType, Ints, PathLike, check_numbers
from thpi.solvers.blocks import Parts, combined, row_blocks

if TYPE_CHECKING:
    from thpi.solvers.moments import Moments

IN_MEMORY = 2**27
"""Projections (n x c) of up to this many bytes are kept in memory; larger ones go to a temporary file."""

MAPPED_FROM = 2**26
"""A mapped array of at least this many bytes is read block by block; a smaller one is used as an array."""

_RELEASE_EVERY = 2**25
_SPILLED_BLOCK = 2**22
_PARQUET_BLOCK = 2**24
_FAR_ROWS = 256  # rows that are read one by one before their pages are released


class Rows(ABC):
    """Rows read block by block, as often as needed. A subclass implements :meth:`blocks`.

    A subclass that knows them assigns ``shape``, ``n_columns`` and ``dtype``, which otherwise takes a pass over all.
    """

    remote: ClassVar[bool] = False
    """Whether the rows, and everything computed per row, are in other processes."""

    @abstractmethod
    def blocks(self) -> Iterator[Array]:
        """Read all rows again, in order, in non-empty blocks of float32 or float64."""

    @cached_property
    def _first(self) -> Array:
        if (block := next(self.blocks(), None)) is None:
            raise ValueError("X has no rows; at least 2 are needed.")
        return block

    @cached_property
    def dtype(self) -> DType:
        """Type of the numbers: float32 or float64."""
        return self._first.dtype

    @cached_property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self._first.shape[1])

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.moments().n, self.n_columns

    def moments(self) -> Moments:
        """Return number of rows, mean and scatter matrix; only the first call reads the rows."""
        return self._moments

    @cached_property
    def _moments(self) -> Moments:
        from thpi.solvers.moments import shifted_moments  # imports scikit-learn, which coding rows does not need

        # The mean of the first block is close enough to the overall mean to prevent cancellation.
        shift = self._first.mean(axis=0, dtype=np.float64).astype(self.dtype)
        moments = shifted_moments(self, shift)
        if not (np.isfinite(moments.mean).all() and np.isfinite(np.diag(moments.scatter)).all()):
            raise ValueError(f"X holds NaN, infinity, or numbers whose squares overflow {self.dtype}.")
        return moments

    def reduce(
        self, function: Callable[..., Parts], *arguments: object, combine: Callable[..., object] = np.add
    ) -> Parts:
        """Combine ``function(block, *arguments)`` over all blocks; see :func:`thpi.solvers.blocks.reduce_blocks`."""
        return combined((function(block, *arguments) for block in self.blocks()), combine)

    def take(self, rows: Ints) -> Array:
        """Return the rows with these ascending numbers."""
        parts, start = [], 0
        for block in self.blocks():
            low, high = np.searchsorted(rows, (start, start + len(block)))
            # Copied, because a slice would keep the whole block alive.
            parts.append(np.array(block[rows[low:high] - start]))
            start += len(block)
        return np.concatenate(parts)

    def project(self, mean: Array, W: Array) -> Array | Rows:
        """Return ``(X - 1 mean') W`` as an array or, if it is large, as rows in a temporary file."""
        shape = self.shape[0], W.shape[1]
        projected = ((block - mean) @ W for block in self.blocks())
        if shape[0] * shape[1] * self.dtype.itemsize > IN_MEMORY:
            return spilled(projected, shape, self.dtype)
        return np.concatenate(list(projected)).astype(self.dtype, copy=False)

    def map(self, function: Callable[[Array], Array], n_columns: int, dtype: npt.DTypeLike) -> Any:
        """Return ``function(block)`` of all blocks, each with ``n_columns`` columns, as one array in memory."""
        return np.concatenate([np.empty((0, n_columns), dtype=dtype), *map(function, self.blocks())])

    def below(self, array: Array) -> Rows:
        """Return the rows of ``array`` followed by these."""
        return Blocks(lambda: chain((array[rows] for rows in row_blocks(array)), self.blocks()))

    def beside(self, right: Array | Rows) -> Rows:
        """Return these rows with the columns of ``right`` appended."""
        here = right.gather() if isinstance(right, Rows) and right.remote else right
        return Blocks(lambda: _side_by_side(self, here))

    def gather(self) -> Array:
        """Bring all rows into memory."""
        return np.concatenate(list(self.blocks()))


class Blocks(Rows):
    """Rows in blocks: a list of arrays, any other iterable that can be read repeatedly, or a function.

    Fitting reads the rows several times. A generator can be read only once, so pass a function that makes one.

    >>> blocks = Blocks(lambda: (np.full((2, 3), float(i)) for i in range(4)))
    >>> blocks.shape, blocks.moments().mean
    ((8, 3), array([1.5, 1.5, 1.5]))
    """

    def __init__(self, blocks: Iterable[npt.ArrayLike] | Callable[[], Iterable[npt.ArrayLike]]) -> None:
        if not callable(blocks) and iter(blocks) is blocks:
            raise ValueError("blocks is an iterator, which can be read only once; pass a list, or a function.")
        self._make = blocks if callable(blocks) else lambda: blocks

    def blocks(self) -> Iterator[Array]:
        first: Array | None = None
        for block in self._make():
            array = as_floats(block)
            if array.ndim != 2 or (first is not None and array.shape[1] != first.shape[1]):
                wanted = "2-D" if first is None else f"2-D with {first.shape[1]} columns, as the first one"
                raise ValueError(f"X holds a block of shape {array.shape}; every block must be {wanted}.")
            first = array[:0] if first is None else first
            if len(array):
                yield array.astype(first.dtype, copy=False)


class Mapped(Rows):
    """Rows of a ``numpy.memmap``, such as ``np.load(path, mmap_mode="r")``; pages that were read leave the memory."""

    def __init__(self, array: Array, block_length: int | None = None) -> None:
        self.array, self._length = array, block_length
        self.shape = int(array.shape[0]), int(array.shape[1])
        self.n_columns, self.dtype = self.shape[1], as_floats(array[:0]).dtype

    def blocks(self) -> Iterator[Array]:
        n, length, read = self.shape[0], self._length, 0
        some = (slice(i, i + length) for i in range(0, n, length)) if length else row_blocks(self.array)
        for rows in some:
            block = as_floats(self.array[rows])
            yield np.array(block)
            read += block.nbytes
            if read >= _RELEASE_EVERY:
                self._release()
                read = 0
        self._release()

    def _release(self) -> None:
        # The pages stay in the system's cache; only the mapping drops them. A writable map is left alone, because
        # private changes (mode "c") would be lost.
        mapping = getattr(self.array, "_mmap", None)
        if mapping is not None and getattr(self.array, "mode", "") == "r" and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)

    def take(self, rows: Ints) -> Array:
        parts = []
        # The system maps pages around each row that is touched: far rows would map the whole file.
        for some in np.array_split(rows, max(1, len(rows) // _FAR_ROWS)):
            parts.append(as_floats(self.array[some]))
            self._release()
        return np.concatenate(parts)


def _side_by_side(left: Rows, right: Array | Rows) -> Iterator[Array]:
    """Yield the blocks of ``left`` with the columns of ``right`` appended; its blocks may have other sizes."""
    others = right.blocks() if isinstance(right, Rows) else (right[part] for part in row_blocks(right))
    waiting: Array | None = None
    for block in left.blocks():
        parts, missing = [], len(block)
        while missing:
            if waiting is None or not len(waiting):
                waiting = next(others, None)
            if waiting is None:
                raise ValueError("privileged has fewer rows than X; row i of both must be one item.")
            parts.append(np.array(waiting[:missing]))  # copied, because the next block may overwrite this one
            waiting = waiting[missing:]
            missing -= len(parts[-1])
        yield np.hstack([block, np.concatenate(parts).astype(block.dtype, copy=False)])
    if (waiting is not None and len(waiting)) or next(others, None) is not None:
        raise ValueError("privileged has more rows than X; row i of both must be one item.")


def spilled(blocks: Iterable[Array], shape: tuple[int, int], dtype: DType) -> Mapped:
    """Write rows to an unnamed temporary file in ``TMPDIR``, which disappears with the object or the process."""
    with tempfile.TemporaryFile(prefix="thpi-") as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
        file.flush()
        array = np.memmap(file, dtype=dtype, mode="r", shape=shape)
    return Mapped(array, max(1, _SPILLED_BLOCK // array[0].nbytes))


def as_floats(block: npt.ArrayLike) -> Array:
    """Return a block of any numbers as float32 or float64."""
    array = np.asarray(check_numbers("X", block))
    if array.dtype.kind not in "fiub":
        raise ValueError(f"X holds blocks of dtype {array.dtype}; they must be numbers.")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


class Parquet(Rows):
    """Rows of a Parquet file, or of all ``*.parquet`` files in a folder, ordered by name.

    ``columns`` are the features, in this order; by default all. It may be one column of lists (one vector per row).
    """

    def __init__(self, path: PathLike, columns: Sequence[str] | None = None) -> None:
        self.files = _parquet_files(Path(path))
        self.columns = None if columns is None else list(columns)

    @cached_property
    def shape(self) -> tuple[int, int]:
        return sum(self.open(file).metadata.num_rows for file in self.files), self.n_columns

    @property
    def names(self) -> list[str]:
        return list(self.open(self.files[0]).schema_arrow.names)

    def blocks(self) -> Iterator[Array]:
        for path in self.files:
            file = self.open(path)
            width = max(1, len(self.columns or file.schema_arrow.names))
            # One column may hold long lists; the row groups also limit how much is read at once.
            rows = max(1, _PARQUET_BLOCK // (8 * (1024 if width == 1 else width)))
            for batch in file.iter_batches(rows, columns=self.columns):
                block = as_floats(record_values(batch, self.columns, str(path)))
                if not np.isfinite(block).all():
                    raise ValueError(f"{str(path)!r} holds a null, NaN or infinity among its features.")
                yield block

    def open(self, path: Path) -> Any:
        """Open one of the files."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            file = pq.ParquetFile(path)
        except pa.ArrowException as error:
            raise ValueError(f"{str(path)!r} is not a Parquet file ({error}).") from None
        if missing := [name for name in self.columns or [] if name not in file.schema_arrow.names]:
            raise ValueError(f"{str(path)!r} has no column {missing[0]!r}.")
        return file


def _parquet_files(path: Path) -> list[Path]:
    """Return the file itself, or the Parquet files of a folder by name."""
    if not path.exists():
        raise ValueError(f"{str(path)!r} does not exist.")
    files = sorted(file for file in path.glob("*.parquet") if file.is_file()) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{str(path)!r} has no *.parquet files in it.")
    return files


def record_values(batch: Any, columns: Sequence[str] | None, where: str) -> Array:
    """Return the numbers of a record batch (n x d): one feature per column, or one column of equally long lists."""
    from pyarrow import types

    names = list(columns or batch.schema.names)
    kinds = [batch.schema.field(name).type for name in names]
    if len(names) == 1 and (types.is_list(kinds[0]) or types.is_fixed_size_list(kinds[0])):
        column = batch.column(names[0])
        values = column.flatten().to_numpy(zero_copy_only=False)
        uneven = types.is_list(kinds[0]) and len(np.unique(np.diff(column.offsets.to_numpy()))) > 1
        if uneven or column.null_count or len(batch) == 0 or len(values) % len(batch):
            raise ValueError(f"{where!r} column {names[0]!r} has lists of different lengths, or nulls.")
        return np.asarray(values.reshape(len(batch), -1))
    for name, kind in zip(names, kinds, strict=True):
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ValueError(f"{where!r} column {name!r} holds {kind}, not numbers.")
    return np.column_stack([as_floats(batch.column(name).to_numpy(zero_copy_only=False)) for name in names])
