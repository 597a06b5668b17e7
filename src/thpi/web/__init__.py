"""The search server of a collection and its page: ``thpi serve``. Needs the extra ``thpi[serve]``.

It may import collection, codes, encoder, identity and the types of index. Nothing imports it but ``cli/serve.py``.
"""

from __future__ import annotations

from thpi.web.app import create_app
from thpi.web.running import serve
from thpi.web.settings import Settings

__all__ = ["Settings", "create_app", "serve"]
