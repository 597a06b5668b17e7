"""The search server and its page: ``thpi serve``. Needs the extra ``thpi[serve]``."""

from __future__ import annotations

from thpi.web.app import create_app
from thpi.web.catalogue import Catalogue, Engine
from thpi.web.demo import demo_catalogue
from thpi.web.settings import Settings

__all__ = ["Catalogue", "Engine", "Settings", "create_app", "demo_catalogue"]
