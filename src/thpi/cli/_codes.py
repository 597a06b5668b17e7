"""Files of thpi told apart by their first bytes, and codes read from and written to any kind of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thpi.cli._output import check_output, uninterrupted

if TYPE_CHECKING:
    from thpi.stores import CodeTable

__all__ = ["CODE_FILES", "check_codes_output", "code_format", "file_kind", "read_codes", "write_codes"]

CODE_FILES = {".npy": "npy", ".parquet": "parquet", ".faiss": "faiss"}
"""Kinds of files of codes by the end of their names."""

_FAISS = (b"IBxF", b"IBMp", b"IBM2")


def file_kind(argument: str, path: Path) -> str:
    """Tell what a file is: ``model``, ``index``, ``npy``, ``parquet`` or ``faiss``; ``parts`` for a folder of codes."""
    if not path.exists():
        raise ValueError(f"{argument}={str(path)!r} does not exist.")
    if path.is_dir():
        if (path / "parts.json").exists():
            return "parts"
        raise ValueError(f"{argument}={str(path)!r} is a folder, and not one of codes in parts; it must be a file.")
    with open(path, "rb") as file:
        head = file.read(9)
    if head[:8] == b"thpi-idx":
        return "index"
    if head[:6] == b"\x93NUMPY":
        return "npy"
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:4] in _FAISS:
        return "faiss"
    if head[8:9] == b"{":
        return "model"
    raise ValueError(f"{argument}={str(path)!r} is not a thpi model, a thpi index, or codes (npy, parquet, faiss).")


def read_codes(argument: str, path: Path, n_bits: int | None = None) -> CodeTable:
    """Read codes and ids from a file of codes or from an index; ``n_bits`` is needed by plain arrays only."""
    from thpi import stores

    kind = file_kind(argument, path)
    if kind == "model":
        raise ValueError(f"{argument}={str(path)!r} is a model; codes or an index are needed here (see thpi encode).")
    if kind == "npy":
        try:
            return stores.read_npy(path, n_bits)
        except ValueError as error:
            raise ValueError(str(error).replace("pass n_bits.", "say with --bits how many bits a code has.")) from None
    if kind == "faiss":
        return stores.read_faiss(path, n_bits)
    if kind in ("parquet", "parts"):
        table = stores.read_parquet(path) if kind == "parquet" else stores.read_parts(path)
    else:
        from thpi.index import HammingIndex

        index = HammingIndex.open(path)
        table = stores.CodeTable(index.codes, index.ids, index.n_bits)
    if n_bits not in (None, table.n_bits):
        raise ValueError(f"--bits {n_bits} was given, but {str(path)!r} holds codes of {table.n_bits} bits.")
    return table


def code_format(argument: str, path: Path) -> str:
    """Give the kind of file that a name asks for."""
    kind = CODE_FILES.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"{argument}={str(path)!r} must end in {', '.join(CODE_FILES)}: the end says the format.")
    return kind


def check_codes_output(argument: str, path: Path, kind: str, *, force: bool, inputs: tuple[Any, ...]) -> None:
    """Check the output file, and for faiss the file beside it that says what faiss cannot."""
    for file in (path, Path(f"{path}.json")) if kind == "faiss" else (path,):
        check_output(argument, file, force=force, inputs=inputs)


def write_codes(kind: str, path: Path, codes: Any, n_bits: int, ids: Any) -> None:
    """Write codes in one step as ``kind``."""
    from thpi import stores

    writers = {"npy": stores.write_npy, "parquet": stores.write_parquet, "faiss": stores.write_faiss}
    with uninterrupted():
        writers[kind](path, codes, n_bits, ids)
