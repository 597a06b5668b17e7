"""Vectors and codes in the bodies of requests: CSV, .npy files, and raw bytes."""

from __future__ import annotations

import csv
import io
import math

import numpy as np

from thpi._types import Array, Codes
from thpi.codes import n_bytes
from thpi.web.errors import RequestError, short

NPY_MAGIC = b"\x93NUMPY"


def parse_floats(body: bytes, n_features: int) -> Array:
    """Read vectors as little-endian float32 numbers, one vector after the other.

    >>> parse_floats(b"\\x00\\x00\\x80\\x3f\\x00\\x00\\x00\\x40", 2)
    array([[1., 2.]], dtype=float32)
    """
    return _rows(body, "<f4", n_features, f"vectors of {n_features} float32 numbers").astype(np.float32, copy=False)


def parse_codes(body: bytes, n_bits: int) -> Codes:
    """Read packed codes, one after the other."""
    return _rows(body, "u1", n_bytes(n_bits), f"codes of {n_bits} bits")


def parse_hex(texts: object) -> Codes:
    """Read packed codes that are texts of hexadecimal digits, all of the same length; ``ValueError`` else.

    >>> parse_hex(["0f3a", "88c1"])
    array([[ 15,  58],
           [136, 193]], dtype=uint8)
    """
    wanted = "codes must be a list of texts of hexadecimal digits, all of the same length"
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(wanted)
    try:
        rows = [bytes.fromhex(text) for text in texts]
    except ValueError:
        raise ValueError(wanted) from None
    if not rows or len({len(row) for row in rows}) > 1 or not rows[0]:
        raise ValueError(wanted)
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)


def _rows(body: bytes, dtype: str, n_columns: int, what: str) -> Array:
    size = np.dtype(dtype).itemsize * n_columns
    if not body or len(body) % size:
        raise RequestError(422, f"the body has {len(body)} bytes; it must hold {what}, {size} bytes each.")
    return np.frombuffer(body, dtype=dtype).reshape(-1, n_columns)


def parse_csv(body: bytes, features: tuple[str, ...] | None) -> Array:
    """Read numbers, one vector per line. If the first line has names, ``features`` are found by name."""
    try:
        text = body.decode("utf-8-sig")
        if not text.strip():
            raise RequestError(422, "the CSV body is empty; it must have one vector per line.")
        first, _, rest = text.lstrip().partition("\n")
        columns = None
        if names := _names(first, features):
            if not rest.strip():
                raise RequestError(422, "the CSV body has a header line and no vectors.")
            if missing := [name for name in features or () if name not in names]:
                raise RequestError(422, f"the CSV body has no column {short(missing[0])}; the model needs it.")
            text, columns = rest, None if features is None else [names.index(name) for name in features]
        return np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2, comments=None, quotechar='"', usecols=columns)
    except UnicodeDecodeError:
        raise RequestError(422, "the CSV body is not UTF-8 text.") from None
    except (ValueError, csv.Error) as error:
        message = str(error).encode("ascii", "backslashreplace").decode("ascii")[:200].rstrip(".")
        raise RequestError(422, f"the CSV body must hold numbers, one vector per line: {message}.") from None


def _names(line: str, features: tuple[str, ...] | None) -> list[str]:
    """Return the cells of a header line, of which none is a number or all features are there; else nothing."""
    cells = [cell.strip() for cell in next(csv.reader([line.rstrip("\r")]), [])]
    known = features is not None and set(features) <= set(cells)
    return cells if known or not any(map(_is_number, cells)) else []


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def parse_npy(body: bytes) -> Array:
    """Read a ``.npy`` file. Its header is checked against its size before anything is allocated."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    stream = io.BytesIO(body)
    try:
        shape, fortran, dtype = readers[np.lib.format.read_magic(stream)](stream)
    except Exception:  # numpy reads the header as Python text: a damaged one fails in any of a dozen ways
        raise RequestError(422, "the body is not a .npy file that numpy writes for numbers.") from None
    if dtype.kind not in "fiu" or dtype.itemsize > 8 or len(shape) not in (1, 2):
        raise RequestError(
            422, f"the .npy body has dtype {dtype} and shape {short(shape)}; 1-D or 2-D numbers are allowed."
        )
    rest = body[stream.tell() :]
    if min(shape) < 1:  # before numpy sees it: the other number may be beyond all bounds
        raise RequestError(422, f"the .npy body has shape {short(shape)}; at least one vector of one number is needed.")
    if math.prod(shape) * dtype.itemsize != len(rest):
        raise RequestError(422, f"the .npy body announces shape {short(shape)} but has {len(rest)} bytes of numbers.")
    values: Array = np.frombuffer(rest, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    return np.atleast_2d(values)
