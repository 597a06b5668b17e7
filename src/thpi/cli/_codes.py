"""Which kind of file a path holds, and codes read from and written to any kind of file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thpi.cli._output import check_output, uninterrupted

if TYPE_CHECKING:
    import numpy.typing as npt

    from thpi._types import Codes
    from thpi.stores import CodeTable, FileFormat


def file_kind(argument: str, path: Path) -> str:
    """Return ``model``, ``index``, the name of a format of codes, or ``parts`` for a folder of codes."""
    from thpi.stores import FORMATS

    if not path.exists():
        raise ValueError(f"{argument}={str(path)!r} does not exist.")
    if path.is_dir():
        if (path / "parts.json").exists():
            return "parts"
        raise ValueError(f"{argument}={str(path)!r} is a folder, but not one of codes in parts; it must be a file.")
    with open(path, "rb") as file:
        head = file.read(9)
    if head[:8] == b"thpi-idx":
        return "index"
    for name, known in FORMATS.items():
        if head.startswith(known.signatures):
            return name
    if head[8:9] == b"{":
        return "model"
    raise ValueError(f"{argument}={str(path)!r} is not a thpi model, a thpi index, or codes ({', '.join(FORMATS)}).")


def read_codes(argument: str, path: Path, n_bits: int | None = None) -> CodeTable:
    """Read codes and ids from a file of codes or from an index; only plain arrays need ``n_bits``."""
    from thpi import stores

    kind = file_kind(argument, path)
    if kind == "model":
        raise ValueError(f"{argument}={str(path)!r} is a model; codes or an index are needed here (see thpi encode).")
    if kind in stores.FORMATS:
        try:
            return stores.FORMATS[kind].read(path, n_bits)
        except ValueError as error:
            text = str(error).replace("pass n_bits.", "set the number of bits of a code with --bits.")
            raise ValueError(text.replace("n_bits=", "--bits ")) from None
    if kind == "parts":
        table = stores.read_parts(path)
    else:
        from thpi.index import HammingIndex

        index = HammingIndex.open(path)
        table = stores.CodeTable(index.codes, index.ids, index.n_bits)
    if n_bits not in (None, table.n_bits):
        raise ValueError(f"--bits {n_bits} was given, but {str(path)!r} holds codes of {table.n_bits} bits.")
    return table


def code_format(argument: str, path: Path) -> FileFormat:
    """Return the format that the suffix of a file names."""
    from thpi.stores import FORMATS

    for known in FORMATS.values():
        if path.suffix.lower() == known.suffix:
            return known
    suffixes = ", ".join(known.suffix for known in FORMATS.values())
    raise ValueError(f"{argument}={str(path)!r} must end in {suffixes}: the suffix sets the format.")


def check_codes_output(
    argument: str, path: Path, kind: FileFormat, *, force: bool, inputs: tuple[Path | str, ...]
) -> None:
    """Check the output file and the files that are written beside it."""
    for suffix in ("", *kind.beside):
        check_output(argument, Path(f"{path}{suffix}"), force=force, inputs=inputs)


def write_codes(kind: FileFormat, path: Path, codes: Codes, n_bits: int, ids: npt.ArrayLike | None) -> None:
    """Write codes in one step."""
    with uninterrupted():
        kind.write(path, codes, n_bits, ids)
