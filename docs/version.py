"""Show the version of the package at the foot of every page of the site."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig

from thpi import __version__


def on_config(config: MkDocsConfig) -> None:
    """Set the line that the theme shows at the foot."""
    config.copyright = f"thpi {__version__}"
