"""``thpi serve``: search over HTTP, and a page to look at what is found."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from thpi.cli._files import load_model
from thpi.cli._options import AnyModel
from thpi.cli._output import progress_bar

if TYPE_CHECKING:
    from thpi.web import Catalogue


_DATASET = typer.Argument(help="What --demo shows: digits or shop. Default: digits.")
_PICTURES = typer.Option(help="Folder of pictures to show: a file per item, named after its id (A-17.jpg).")
_WRITABLE = typer.Option("--writable", help="Let requests add and remove items; needs a token.")
_MAX_NEIGHBOURS = typer.Option(help="Maximum number of neighbours in one answer; a tenth with details.", min=1)
_MAX_CONNECTIONS = typer.Option(help="Maximum number of connections; 512, or half the open files allowed.", min=1)
_IDLE_LIMIT = typer.Option(help="Time limit of a connection that waits: for headers, a request, a reader.")
_WORKERS = typer.Option(help="Processes that answer requests. They share the memory of the index.", min=1)
_TOKEN = typer.Option(envvar="THPI_TOKEN", help="Bearer token that requests must carry.", show_envvar=True)


def serve(
    dataset: Annotated[Optional[str], _DATASET] = None,
    model: Annotated[Optional[Path], typer.Option(help="Model file that `thpi fit` wrote.")] = None,
    index: Annotated[Optional[Path], typer.Option(help="Index file of codes of that model.")] = None,
    pictures: Annotated[Optional[Path], _PICTURES] = None,
    any_model: AnyModel = False,
    writable: Annotated[bool, _WRITABLE] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Show bundled data, not a model.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    token: Annotated[Optional[str], _TOKEN] = None,
    max_k: Annotated[int, typer.Option(help="Maximum number of neighbours of a search.", min=1)] = 1000,
    max_batch: Annotated[int, typer.Option(help="Maximum number of vectors in one request.", min=1)] = 1000,
    max_body: Annotated[int, typer.Option(help="Maximum size of a request body, in bytes.", min=1)] = 16_000_000,
    max_neighbours: Annotated[int, _MAX_NEIGHBOURS] = 200_000,
    max_connections: Annotated[Optional[int], _MAX_CONNECTIONS] = None,
    time_limit: Annotated[float, typer.Option(help="Time limit of one search, in seconds.")] = 10.0,
    idle_limit: Annotated[float, _IDLE_LIMIT] = 10.0,
    workers: Annotated[int, _WORKERS] = 1,
) -> None:
    """Serve similarity search: by vector, by id, by uploaded batch; with a page for the browser.

    The bundled digits, every method side by side:  thpi serve --demo

    A bundled shop, search by picture without and with tags:  thpi serve --demo shop

    Your own model and index:  thpi serve --model shop.thpi --index shop.index

    The same with pictures of the items:  add --pictures FOLDER

    Changes of the index file, by thpi index add or by requests, are seen within a
    second; /healthz shows the version. With --writable and a token, requests can
    add and remove items.

    With --workers, several processes answer; the index is in memory once. An item
    that is added or removed by a request is then seen by all within a second.

    The server listens on this machine only, unless --host is given. Ctrl-C or
    SIGTERM stops it after the running requests are answered. Set the token as
    THPI_TOKEN rather than here, where other users of this machine can read it.
    """
    from thpi._optional import require

    if workers > 1:
        _count_together(workers)
    for package in ("fastapi", "prometheus_client", "uvicorn"):
        require(package, "serve")
    from thpi.index import HammingIndex
    from thpi.web import Catalogue, Engine
    from thpi.web.pictures import picture_files
    from thpi.web.running import serve as run
    from thpi.web.settings import LOOPBACK_NAMES, Settings, is_loopback

    _check_address(host, port)
    host_names = LOOPBACK_NAMES if is_loopback(host) else ()
    if writable and token is None:
        raise ValueError("--writable needs a token: set THPI_TOKEN, or --token.")
    settings = Settings(
        token,
        host_names,
        max_body=max_body,
        max_k=max_k,
        max_batch=max_batch,
        max_neighbours=max_neighbours,
        max_connections=_connections(max_connections),
        time_limit=time_limit,
        idle_limit=idle_limit,
        n_threads=os.cpu_count() or 1,
        writable=writable,
    )
    if demo and (model or index or writable or pictures):
        raise ValueError("--demo shows bundled data; it excludes --model, --index, --pictures and --writable.")
    if dataset is not None and not demo:
        raise ValueError(f"{dataset!r}: a data set is shown with --demo; your own model with --model and --index.")
    if demo:
        catalogue = _demo(dataset or "digits")
    elif model is None or index is None:
        raise ValueError("set --model and --index, or --demo to see the bundled digits.")
    else:
        hasher, features = load_model("--model", model)
        opened = HammingIndex.open(index, "shared" if writable else "r", wait=time_limit)
        engine = Engine(hasher, opened, any_model)
        about = f"Codes of {engine.n_bits} bits by {engine.method}."
        shown = None if pictures is None else picture_files(pictures)
        catalogue = Catalogue(index.name, (engine,), description=about, features=features, pictures=shown)
    if not is_loopback(host) and token is None:
        typer.echo(f"warning: anyone who reaches {host} can search; set THPI_TOKEN to require a token.", err=True)
    code = run(
        catalogue, settings, (host, port), lambda where: typer.echo(f"serving {catalogue.title} at {where}"), workers
    )
    if code:
        raise typer.Exit(code)


def _count_together(workers: int) -> None:
    """Prepare counters of several processes, before the package that counts is imported."""
    if not hasattr(os, "fork"):
        raise ValueError(f"--workers {workers} needs a system that can fork processes; leave it out.")
    folder = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="thpi-counters-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


def _check_address(host: str, port: int) -> None:
    """Refuse an address that is taken, before models are loaded or fitted."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ValueError(f"--host {host} --port {port}: {error.strerror}.") from None


def _connections(asked: int | None) -> int:
    """Return how many connections to let in. The other half of the open files is for those that are being closed."""
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = 2**20 if files == resource.RLIM_INFINITY else files // 2
    if asked is not None and asked > most:
        raise ValueError(f"--max-connections {asked} must be at most {most}, half of what `ulimit -n` allows.")
    return min(512, most) if asked is None else asked


def _demo(dataset: str) -> Catalogue:
    from thpi.web import demo_catalogue

    typer.echo(f"loading {dataset} and learning from it; this takes some seconds", err=True)
    with progress_bar("starting", "MofNCompleteColumn") as update:
        return demo_catalogue(
            dataset, progress=lambda text, done, n: update(description=f"{text:32}", completed=done, total=n)
        )
