"""``python -m experiments``: the commands of the experiments."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

import thpi.cli
from experiments.datasets.command import app as datasets
from experiments.paper.check import paper_check
from experiments.paper.command import paper
from experiments.paper.fingerprint import fingerprint
from experiments.transfer.command import transfer
from thpi._signals import resend_lost_interrupts

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The experiments of thpi: the paper, run again, its protocol, the transfer benchmark, and their data.",
)
app.command(no_args_is_help=True)(paper)
app.command()(fingerprint)
app.command()(paper_check)
app.command()(transfer)
app.add_typer(datasets, name="datasets")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code, as :func:`thpi.cli.run` does."""
    return thpi.cli.run(arguments, app, "python -m experiments")


if __name__ == "__main__":
    resend_lost_interrupts()
    sys.exit(run())
