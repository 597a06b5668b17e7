"""Data that comes with the package."""

from pathlib import Path

BUNDLED = Path(__file__).parent
