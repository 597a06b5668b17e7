"""Results on disk, one file per configuration, so that nothing is computed twice."""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thpi._files import atomic_write

Arrays = dict[str, npt.NDArray[Any]]


class StoreWarning(UserWarning):
    """A result file was damaged and is computed again."""


def config_key(config: Mapping[str, Any]) -> str:
    """Name of a configuration: sha256 of its canonical JSON (sorted keys, no spaces).

    >>> config_key({"bits": 8, "alpha": 0.5}) == config_key({"alpha": 0.5, "bits": 8})
    True
    """
    return hashlib.sha256(_canonical(config).encode()).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=True)


class ResultStore:
    """A folder of results. Files appear whole or not at all, and a damaged one counts as missing.

    ``<kind>/<key>.npz`` holds arrays and ``<kind>/<key>.json`` values; both hold the configuration that made them,
    so a file says what it is and cannot be taken for another.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ResultStore(folder)
    ...     store.write_arrays("fit", {"bits": 8}, {"codes": np.zeros(2, np.uint8)})
    ...     store.read_arrays("fit", {"bits": 8})["codes"]
    array([0, 0], dtype=uint8)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, kind: str, config: Mapping[str, Any], ending: str) -> Path:
        """Return the file of a configuration."""
        return self.folder / kind / f"{config_key(config)}.{ending}"

    def read_arrays(self, kind: str, config: Mapping[str, Any]) -> Arrays | None:
        """Return the arrays of a configuration, or None if there are none or the file is damaged."""
        path = self.path(kind, config, "npz")
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            # zip members carry checksums, and reading a member to its end compares them.
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            if arrays.pop("config").item() != _canonical(config):
                raise ValueError("it belongs to another configuration")
        except Exception as error:  # damaged bytes can make a zip reader stumble in any way
            _damaged(path, error)
            return None
        return arrays

    def write_arrays(self, kind: str, config: Mapping[str, Any], arrays: Mapping[str, npt.ArrayLike]) -> None:
        """Keep the arrays of a configuration."""
        buffer = io.BytesIO()
        members: dict[str, Any] = {"config": np.array(_canonical(config)), **arrays}
        np.savez_compressed(buffer, **members)
        self._write(self.path(kind, config, "npz"), buffer.getvalue())

    def read_values(self, kind: str, config: Mapping[str, Any]) -> Any | None:
        """Return the values of a configuration, or None if there are none or the file is damaged."""
        path = self.path(kind, config, "json")
        try:
            content = json.loads(path.read_text("utf-8"))
            body = {"config": content["config"], "values": content["values"]}
            if content["sha256"] != config_key(body) or _canonical(content["config"]) != _canonical(config):
                raise ValueError("its checksum or configuration is another")
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            _damaged(path, error)
            return None
        return content["values"]

    def write_values(self, kind: str, config: Mapping[str, Any], values: Any) -> None:
        """Keep the values (whatever JSON can hold) of a configuration."""
        body = {"config": json.loads(_canonical(config)), "values": json.loads(_canonical(values))}
        self._write(self.path(kind, config, "json"), json.dumps({"sha256": config_key(body), **body}).encode())

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, data)


def _damaged(path: Path, error: Exception) -> None:
    warnings.warn(f"{path} is damaged and is computed again ({error}).", StoreWarning, stacklevel=3)
