"""``thpi serve``: search a collection over HTTP, and a page to look at what is found."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from thpi.cli._shared import CollectionFile

_WRITABLE = typer.Option("--writable", help="Let requests add and remove items; needs a token.")
_MAX_NEIGHBOURS = typer.Option(help="Maximum number of neighbours in one answer; a tenth with details.", min=1)
_MAX_CONNECTIONS = typer.Option(help="Maximum number of connections of a worker; further ones wait.", min=1)
_IDLE_LIMIT = typer.Option(help="Time limit of a connection for the headers of its next request, in seconds.")
_WORKERS = typer.Option(help="Processes that answer requests; each has the collection in memory.", min=1)
_TOKEN = typer.Option(envvar="THPI_TOKEN", help="Bearer token that requests must carry.", show_envvar=True)


def serve(
    collection: CollectionFile,
    writable: Annotated[bool, _WRITABLE] = False,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    token: Annotated[Optional[str], _TOKEN] = None,
    max_k: Annotated[int, typer.Option(help="Maximum number of neighbours of a search.", min=1)] = 1000,
    max_body: Annotated[int, typer.Option(help="Maximum size of a request body, in bytes.", min=1)] = 16_000_000,
    max_neighbours: Annotated[int, _MAX_NEIGHBOURS] = 200_000,
    max_connections: Annotated[int, _MAX_CONNECTIONS] = 512,
    time_limit: Annotated[float, typer.Option(help="Time limit of one search, in seconds.")] = 10.0,
    idle_limit: Annotated[float, _IDLE_LIMIT] = 10.0,
    workers: Annotated[int, _WORKERS] = 1,
) -> None:
    """Serve a collection: search by vector, by item or by codes, with a page for the browser.

    thpi serve shop.thpi

    Changes of the file, by thpi add or by requests, are seen within a second;
    /health shows the version. With --writable and a token, requests can add and
    remove items.

    The server listens on this machine only, unless --host is given. Ctrl-C or
    SIGTERM stops it after the running requests are answered. Set the token as
    THPI_TOKEN rather than here, where other users of this machine can read it.
    """
    from thpi._optional import require

    require("granian", "serve")
    import thpi
    from thpi.web import Settings
    from thpi.web import serve as run
    from thpi.web.settings import LOOPBACK_NAMES, is_loopback

    if writable and token is None:
        raise ValueError("--writable needs a token: set THPI_TOKEN, or --token.")
    if not 0.001 <= idle_limit <= 60:
        raise ValueError(f"--idle-limit {idle_limit:g} must be from 0.001 to 60 seconds.")
    settings = Settings(
        token, LOOPBACK_NAMES if is_loopback(host) else (), max_body=max_body, max_k=max_k,
        max_neighbours=max_neighbours, time_limit=time_limit, writable=writable,
    )  # fmt: skip
    with thpi.open(collection) as opened:  # an error of the file is told here, before workers start
        title = opened.about["title"]
    if not is_loopback(host) and token is None:
        typer.echo(f"warning: anyone who reaches {host} can search; set THPI_TOKEN to require a token.", err=True)
    run(
        collection, settings, (host, port), lambda where: typer.echo(f"serving {title} at {where}"),
        workers=workers, idle_limit=idle_limit, max_connections=max_connections,
    )  # fmt: skip
