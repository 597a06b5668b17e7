"""``thpi serve``: search over HTTP, and a page to look at what is found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from thpi.cli._options import DataHome

if TYPE_CHECKING:
    from types import FrameType

    from thpi.web import Catalogue, Settings

app = typer.Typer(add_completion=False)

# typer reads annotations at run time, on Python 3.10 too: Optional as it knows it.
# ruff: noqa: UP045


def _demo_names() -> list[str]:
    from thpi.datasets import DATASETS

    return [name for name, entry in DATASETS.items() if entry.demo is not None]


@app.command()
def serve(
    model: Annotated[Optional[Path], typer.Option(help="Model file that `thpi fit` wrote.")] = None,
    index: Annotated[Optional[Path], typer.Option(help="Index file of codes of that model.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show a data set with every method in place of a model.")
    ] = False,
    dataset: Annotated[
        str, typer.Option(autocompletion=_demo_names, help="Data set that --demo shows; see thpi datasets info.")
    ] = "digits",
    data_home: DataHome = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    token: Annotated[
        Optional[str],
        typer.Option(envvar="THPI_TOKEN", help="Bearer token that requests must bring.", show_envvar=True),
    ] = None,
    max_k: Annotated[int, typer.Option(help="Most neighbours of a search.", min=1)] = 1000,
    max_batch: Annotated[int, typer.Option(help="Most vectors in one request.", min=1)] = 1000,
    max_body: Annotated[int, typer.Option(help="Largest request body, in bytes.", min=1)] = 16_000_000,
    time_limit: Annotated[float, typer.Option(help="Seconds for one search.")] = 10.0,
) -> None:
    """Serve similarity search: by vector, by id, by uploaded batch; with a page for the browser.

    The bundled digits, every method side by side:  thpi serve --demo

    Other data sets, from their folder:  thpi serve --demo --data-home DIR --dataset openclipart

    Your own model and index:  thpi serve --model shop.thpi --index shop.index

    The server listens on this machine only unless --host says otherwise. Ctrl-C
    or SIGTERM stops it once the requests that are running have been answered. The
    token is better set as THPI_TOKEN than given here, where others who use this
    machine can read it.
    """
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(f"thpi serve needs {error.name}; install it with: pip install 'thpi[serve]'") from None
    from thpi.web.settings import LOOPBACK_NAMES, Settings, is_loopback

    settings = Settings(
        token=token,
        host_names=LOOPBACK_NAMES if is_loopback(host) else (),
        max_body=max_body,
        max_k=max_k,
        max_batch=max_batch,
        time_limit=time_limit,
        n_threads=os.cpu_count() or 1,
    )
    if demo and (model or index):
        raise ValueError("--demo shows a data set; it goes without --model and --index.")
    catalogue = _demo(dataset, data_home) if demo else _own(model, index)
    if not is_loopback(host) and token is None:
        typer.echo(f"warning: anyone who reaches {host} can search; set THPI_TOKEN to ask for a token.", err=True)
    _run(catalogue, settings, host, port)


def _own(model: Path | None, index: Path | None) -> Catalogue:
    import thpi
    from thpi.index import HammingIndex
    from thpi.web import Catalogue, Engine

    if model is None or index is None:
        raise ValueError("give --model and --index, or --demo to see the bundled digits.")
    engine = Engine(thpi.load(model), HammingIndex.open(index))
    return Catalogue(index.name, (engine,), description=f"Codes of {engine.n_bits} bits by {engine.method}.")


def _demo(dataset: str, data_home: Path | None) -> Catalogue:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from thpi.web import demo_catalogue

    console = Console(stderr=True)
    console.print(f"loading {dataset} and fitting every method; this takes some seconds")
    columns = (TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=None)

        def progress(text: str, done: int, total: int) -> None:
            bar.update(task, description=text, completed=done, total=total)

        return demo_catalogue(dataset, data_home, progress=progress)


def _run(catalogue: Catalogue, settings: Settings, host: str, port: int) -> None:
    import signal
    from contextlib import suppress

    import uvicorn

    from thpi.web import create_app

    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # in the background of a script, say: it stays ignored

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if not (ignored and sig == signal.SIGINT):
                super().handle_exit(sig, frame)

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            for server in self.servers:
                for socket in server.sockets:
                    address, bound = socket.getsockname()[:2]
                    name = f"[{address}]" if ":" in address else address
                    typer.echo(f"serving {catalogue.title} at http://{name}:{bound}")

    config = uvicorn.Config(
        create_app(catalogue, settings),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        # Reading a body and searching have a limit each; a request that keeps to both is finished.
        timeout_graceful_shutdown=int(2 * settings.time_limit) + 1,
    )
    # uvicorn raises the signal again once it has stopped; a stop that was asked for is no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    with suppress(KeyboardInterrupt):
        Server(config).run()
