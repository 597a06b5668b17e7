"""Table 1 (ours, the published value, the difference), what the source was worth, and the numbers of the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from experiments.harness.gains import Gain, gain_over, shown_share, transfer_efficiency
from experiments.harness.protocol import PROTOCOLS, RELEVANCES
from experiments.harness.tables import Cell, Column, Grid, Records, Section, Table, register
from experiments.paper.compare import PROTOCOL, SIX, agreement
from experiments.paper.published import METHOD_TITLES, TABLE_ALPHA, table1
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.sets import paper_set
from experiments.paper.settings import runs_of, sweep_runs

FAR_FROM_PUBLISHED = 5.0
"""Points of difference from which a cell is marked as far off."""


@dataclass(frozen=True)
class Value:
    """A method at a code length on a data set, under a protocol and a meaning of "relevant".

    ``published`` is the paper's value and ``difference`` ours minus it, in points; with ``stand_in`` the value belongs
    to the set that this one stands in for. ``gain`` is the mean difference to ITQ on the n target rows ("no source")
    over splits, with its 95 % interval; ``efficiency`` the transfer efficiency.
    """

    dataset: str
    protocol: str
    relevance: str
    alpha: float
    bits: int
    method: str
    reference: bool
    value: float | None
    spread: float | None
    n_splits: int
    published: float | None
    difference: float | None
    stand_in: bool
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    efficiency: float | None
    reason: str | None


def values(results: Results, protocol: str, kind: str = "target") -> list[Value]:
    """All values of Table 1 under one protocol and one meaning of "relevant"."""
    return [
        _value(results, dataset, Section(kind, protocol), bits, run)
        for dataset in results.datasets
        if kind in results.kinds(dataset, protocol)
        for bits in results.settings.bits
        for run in runs_of(dataset, bits)
    ]


def _value(results: Results, dataset: str, section: Section, bits: int, run: MethodRun) -> Value:
    kind, protocol = section
    alpha, shown = results.settings.table_alpha, paper_set(dataset)
    few = results.splits(dataset, protocol, alpha, MethodRun("ITQ", bits), kind)
    full = results.mean(dataset, protocol, alpha, MethodRun("ITQ", bits, "all"), kind)
    found = results.splits(dataset, protocol, alpha, run, kind)
    mean = float(found.mean()) if found.size else None
    known = None
    like_published = section == ("target", PROTOCOL) and alpha == TABLE_ALPHA and run == MethodRun(run.method, bits)
    if like_published and shown.beside_published:
        known = table1().get((str(shown.published), bits, run.method))
    gain = gain_over(found, few) if found.size and found.size == few.size else None
    share = None
    if mean is not None and full is not None and few.size:
        share = transfer_efficiency(mean, float(few.mean()), full)
    return Value(
        dataset=dataset,
        protocol=protocol,
        relevance=kind,
        alpha=alpha,
        bits=bits,
        method=run.title,
        reference=run.trained_on == "all" or run.method == "ITQ",
        value=mean,
        spread=float(found.std(ddof=1)) if found.size > 1 else None,
        n_splits=int(found.size),
        published=known,
        difference=None if known is None or mean is None else mean - known,
        stand_in=not shown.comparable,
        gain=gain.mean if gain else None,
        gain_low=gain.low if gain else None,
        gain_high=gain.high if gain else None,
        efficiency=share,
        reason=results.reason(dataset, protocol, alpha, run),
    )


def _by_row(found: Sequence[Value]) -> Iterator[tuple[str, int, dict[str, Value]]]:
    """Data set, code length, and the values by method."""
    for dataset, bits in dict.fromkeys((value.dataset, value.bits) for value in found):
        yield dataset, bits, {v.method: v for v in found if (v.dataset, v.bits) == (dataset, bits)}


def table1_grid(mine: Sequence[Value]) -> Grid:
    """One data set: one row per code length, one column per method, reasons of empty cells as notes."""
    first = mine[0]
    methods = list(dict.fromkeys(value.method for value in mine))
    reasons = list(dict.fromkeys(value.reason for value in mine if value.reason))
    rows = []
    for _, bits, row in _by_row(mine):
        best = max(
            (v.value for v in row.values() if v.value is not None and "all target" not in v.method), default=None
        )
        rows.append([Cell(str(bits)), *(_table1_cell(row[method], best, reasons) for method in methods)])
    published = any(value.published is not None for value in mine)
    key = "in brackets: published value, our difference in points" if published else ""
    return Grid(
        title=f"{first.dataset}: {PROTOCOLS[first.protocol].title}, relevant = {RELEVANCES[first.relevance]}, "
        f"alpha {first.alpha:g}, {max(value.n_splits for value in mine)} splits",
        columns=[Column("bits"), *(Column(m, ("no source",) if m == "ITQ" else ()) for m in methods)],
        rows=rows,
        caption=paper_set(first.dataset).title,
        notes=reasons,
        key=key + (" (of the set it stands in for)" if key and first.stand_in else ""),
    )


def _table1_cell(value: Value, best: float | None, reasons: Sequence[str]) -> Cell:
    if value.value is None:
        note = reasons.index(value.reason) + 1 if value.reason else 0
        return Cell("-", reference=value.reference, note=note)
    shown = Cell(f"{value.value:.2f}", reference=value.reference, best=value.value == best)
    if value.difference is None:
        return shown
    far = abs(value.difference) > FAR_FROM_PUBLISHED
    return replace(shown, small=(f"{value.published:.2f}",), difference=f"{value.difference:+.2f}", far=far)


def worth_grid(found: Sequence[Value]) -> Grid:
    """What the methods gain over ITQ without source, and the share of the gap they close."""
    methods = [METHOD_TITLES["CCAITQ"] + ", tuned", METHOD_TITLES["CVH"] + ", tuned", "ITQ+", "LapITQ+"]
    rows = []
    for dataset, bits, row in _by_row(found):
        gap = row["ITQ, all target data"].gain
        shown = [_worth_cell(row[method]) for method in methods]
        rows.append([Cell(dataset), Cell(str(bits)), Cell("-" if gap is None else f"{gap:+.2f}"), *shown])
    title = "What the source was worth"
    text = (
        "Gain over ITQ without source in points, its 95 % interval, and the transfer efficiency: the share of the gap "
        'to ITQ on all target data that is closed ("no gap" where more target data did not help).'
    )
    columns = [Column(name) for name in ("data set", "bits", "gap", *methods)]
    return Grid(title, columns, rows, heading=title, text=text)


def _worth_cell(value: Value) -> Cell:
    if value.gain is None:
        return Cell("-")
    gain = Gain(value.gain, value.gain_low, value.gain_high, value.n_splits)
    small = (gain.interval(), shown_share(value.efficiency))
    return Cell(f"{value.gain:+.2f}", (", ".join(text for text in small if text),))


def _table1_grids(results: Results, section: Section) -> list[Grid]:
    found = values(results, section.protocol, section.relevance)
    return [table1_grid([v for v in found if v.dataset == name]) for name in dict.fromkeys(v.dataset for v in found)]


def _worth_grids(results: Results, section: Section) -> list[Grid]:
    return [worth_grid(values(results, section.protocol, section.relevance))]


def _table1_records(results: Results) -> Records:
    return [asdict(value) for p in results.protocols for kind in RELEVANCES for value in values(results, p, kind)]


def _parameter_records(results: Results) -> Records:
    """The selected parameters of every split."""
    lengths = _lengths(results)
    return [
        {
            "dataset": dataset, "protocol": protocol, "alpha": alpha, "seed": entry["seed"], "bits": bits,
            "method": run.title, "lambda1": entry["parameters"].get("lambda1"),
            "lambda2": entry["parameters"].get("lambda2"), "ridge": entry["parameters"].get("ridge"),
        }
        for dataset in results.datasets
        for protocol in results.protocols
        for alpha in results.alphas(dataset, protocol)
        for bits in lengths
        for run in runs_of(dataset, bits)
        if run.selected
        for entry in results.entries(dataset, protocol, alpha, run)
        if "parameters" in entry
    ]  # fmt: skip


def _split_records(results: Results) -> Records:
    """Every value of every split, for ``paper-check``."""
    return [
        {
            "dataset": dataset, "protocol": protocol, "alpha": alpha, "seed": entry["seed"], "bits": bits,
            "method": run.title, "relevance": kind, "value": round(float(value), 4),
        }
        for dataset in results.datasets
        for protocol in results.protocols
        for alpha in results.alphas(dataset, protocol)
        for bits in _lengths(results)
        for run in runs_of(dataset, bits)
        for kind in results.kinds(dataset, protocol)
        # Not strict: an unavailable run has entries and no values.
        for entry, value in zip(
            results.entries(dataset, protocol, alpha, run), results.splits(dataset, protocol, alpha, run, kind),
            strict=False,
        )
    ]  # fmt: skip


def _lengths(results: Results) -> list[int]:
    return list(dict.fromkeys((*results.settings.bits, results.settings.figure_bits)))


def _figure1_records(results: Results) -> Records:
    bits = results.settings.figure_bits
    return [
        {
            "dataset": dataset, "protocol": protocol, "alpha": alpha, "bits": bits, "method": run.title,
            "relevance": kind, "value": results.mean(dataset, protocol, alpha, run, kind),
        }
        for dataset in results.datasets
        for protocol in results.protocols
        for alpha in results.alphas(dataset, protocol)
        for run in runs_of(dataset, bits)
        for kind in results.kinds(dataset, protocol)
    ]  # fmt: skip


def _figure2_records(results: Results) -> Records:
    settings = results.settings
    return [
        {"dataset": dataset, "protocol": protocol, "method": run.title, "k": k, "value": value}
        for dataset in results.datasets
        for protocol in results.protocols
        for run in runs_of(dataset, settings.figure_bits)
        for k, value in results.precision_at(dataset, protocol, settings.table_alpha, run).items()
    ]


def _figure3_records(results: Results) -> Records:
    settings = results.settings
    return [
        {
            "dataset": dataset, "protocol": protocol, "varied": name, **dict(run.parameters),
            "value": results.mean(dataset, protocol, settings.table_alpha, run),
        }
        for dataset in results.datasets
        for protocol in settings.sweep_protocols
        for name, runs in sweep_runs(settings).items()
        for run in runs
    ]  # fmt: skip


def _agreement_records(results: Results) -> Records:
    """How close each comparable set comes to the published values."""
    records: list[dict[str, Any]] = []
    for dataset in results.datasets:
        found = agreement(results, dataset) if paper_set(dataset).comparable else None
        if found is not None:
            records += [
                {"dataset": dataset, "what": f"distance, {name}", "value": round(value, 2), "cells": n}
                for name, (value, n) in found.distance.items()
            ]
            near, n = found.lsh_near
            rising = {"dataset": dataset, "what": "methods whose curve over alpha rises", "value": len(found.rising)}
            records += [
                {"dataset": dataset, "what": "LSH within 2 points", "value": near, "cells": n},
                {**rising, "cells": len(SIX)},
            ]
            if found.tau is not None:
                tau = {"what": "Kendall's tau with the published order", "value": round(found.tau, 2)}
                records.append({"dataset": dataset, **tau, "cells": len(results.settings.bits)})
    return records


def _in(*experiments: str) -> Any:
    return lambda results: not set(experiments).isdisjoint(results.experiments)


def _compared(results: Results) -> bool:
    return "table1" in results.experiments and any(paper_set(name).comparable for name in results.datasets)


for _table in (
    Table("table1", "Table 1", _table1_records, _table1_grids, wanted=_in("table1")),
    Table("worth", "What the source was worth", None, _worth_grids, wanted=_in("table1"), writers=("html",)),
    Table("agreement", "Distance to the published values", _agreement_records, wanted=_compared),
    Table("parameters", "Selected parameters", _parameter_records, wanted=_in("table1"), writers=("csv",)),
    Table("splits", "Values by split", _split_records, wanted=_in("table1", "figure1"), writers=("csv",)),
    Table("figure1", "Figure 1", _figure1_records, wanted=_in("figure1"), writers=("csv", "json")),
    Table("figure2", "Figure 2", _figure2_records, wanted=_in("figure2"), writers=("csv", "json")),
    Table("figure3", "Figure 3", _figure3_records, wanted=_in("figure3"), writers=("csv", "json")),
):
    register("paper", _table)
