"""Where pictures are: in a folder with its subfolders, in a zip file, or in files that a table names."""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from thpi.encoders._picture import PictureError

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif")
MAX_BYTES = 500_000_000  # of one file


class Picture(NamedTuple):
    """A picture file: its name below the folder, where it is, and its name in a zip file, if it is in one."""

    name: str
    path: Path
    member: str | None = None

    def read(self) -> bytes:
        """Return the bytes of the file; ``PictureError`` if it cannot be read."""
        try:
            if self.member is None:
                if self.path.stat().st_size > MAX_BYTES:
                    raise PictureError(f"it has more than {MAX_BYTES:,} bytes")
                return self.path.read_bytes()
            with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
                # Not what the archive says of the size: what comes out of it.
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise PictureError(f"it has more than {MAX_BYTES:,} bytes")
            return data
        except PictureError:
            raise
        except FileNotFoundError:
            raise PictureError("the file does not exist") from None
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
            raise PictureError(f"the file cannot be read ({error})") from None


def find_pictures(place: str | os.PathLike[str]) -> list[Picture]:
    """Return the pictures of a folder and its subfolders, or of a zip file, in the order of their names.

    A picture is a file with one of the usual endings (``ENDINGS``). Hidden files and folders are left out.
    """
    path = Path(place)
    if path.is_dir():
        found = [Picture(file.relative_to(path).as_posix(), file) for file in _files(path)]
    elif path.suffix.lower() == ".zip":
        found = list(_members(path))
    elif path.suffix.lower() in ENDINGS:
        found = [Picture(path.name, path)] if path.exists() else []
    else:
        raise ValueError(f"{os.fspath(place)!r} must be a folder, a zip file or a picture ({', '.join(ENDINGS)}).")
    if not found:
        what = "has no pictures" if path.exists() else "does not exist"
        raise ValueError(f"{os.fspath(place)!r} {what}; pictures end in {', '.join(ENDINGS)}.")
    return sorted(found)


def listed_pictures(names: Iterable[object], folder: Path) -> list[Picture]:
    """Return the pictures that a column of a table names: paths, from ``folder`` on if relative, or file: addresses."""
    return [Picture(str(name), folder / _local(str(name))) for name in names]


def _local(name: str) -> str:
    parts = urlsplit(name)
    if parts.scheme == "file":
        return unquote(parts.path)
    if parts.scheme in ("http", "https"):
        raise ValueError(f"{name!r}: pictures are read from this disk; download it first.")
    return name


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(place, name) for name in names if _is_picture(name))


def _members(path: Path) -> Iterator[Picture]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [each.filename for each in archive.infolist() if not each.is_dir()]
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{str(path)!r} is no zip file that can be read ({error}).") from None
    if doubled := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{str(path)!r} has {doubled[0]!r} twice.")
    for name in names:
        hidden = any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
        if not hidden and _is_picture(name):
            yield Picture(name, path, name)


def _is_picture(name: str) -> bool:
    return not name.startswith(".") and PurePosixPath(name).suffix.lower() in ENDINGS


def picture_ids(pictures: Sequence[Picture], known: Iterable[object] = ()) -> list[str]:
    """Return an id for each picture: the file name without its ending, or what the table's ids look like.

    ``known`` are ids of a table. Of the four names of a file (with and without its folder, with and without its
    ending) the one that most of them are is taken; of equally good ones, the shortest one that tells all files apart.

    >>> files = [Picture("red/7.jpg", Path("red/7.jpg")), Picture("blue/8.jpg", Path("blue/8.jpg"))]
    >>> picture_ids(files), picture_ids(files, ["blue/8.jpg"])
    (['7', '8'], ['red/7.jpg', 'blue/8.jpg'])
    """
    paths = [PurePosixPath(each.name) for each in pictures]
    ways = [
        [path.stem for path in paths],
        [path.name for path in paths],
        [str(path.with_suffix("")) for path in paths],
        [str(path) for path in paths],
    ]
    wanted = set(map(str, known))
    apart = [way for way in ways if len(set(way)) == len(way)]
    if not apart:
        doubled = next(name for name, count in Counter(ways[-1]).items() if count > 1)
        raise ValueError(f"the picture {doubled!r} is there twice.")
    return max(apart, key=lambda way: len(wanted.intersection(way)))
