"""Errors about data sets and their files."""

from __future__ import annotations


class DataNotFoundError(FileNotFoundError):
    """A file of a data set is missing; the message says where to get it and where to put it."""


class DataAlteredError(ValueError):
    """A file of a data set does not have the expected sha256 checksum."""


class UnknownDatasetError(KeyError):
    """No data set of this name is registered."""

    def __str__(self) -> str:
        # KeyError would print the message in quotes.
        return str(self.args[0])
