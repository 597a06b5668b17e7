"""The paper's claims, each judged from the results by a stated rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import numpy as np

from experiments.paper.published import METHOD_TITLES, table1
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.settings import sweep_runs
from thpi.datasets import info
from thpi.evaluation import paired_difference

Outcome = Literal["confirmed", "not confirmed", "not testable here"]

OURS = ("ITQPlus", "LapITQPlus")
BASELINES = ("LSH", "DSH", "CCAITQ", "CVH")
SENSITIVE_FROM = 2.0
"""Claim 4 holds where the means over a parameter's range lie within this many points."""


@dataclass(frozen=True)
class Finding:
    """What one data set says about a claim."""

    dataset: str
    outcome: Outcome
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """A claim, the rule by which it is judged, and the findings."""

    claim: str
    rule: str
    findings: tuple[Finding, ...] = field(default_factory=tuple)

    @property
    def outcome(self) -> Outcome:
        """Confirmed if it is so on every data set where it could be tested."""
        tested = [finding.outcome for finding in self.findings if finding.outcome != "not testable here"]
        if not tested:
            return "not testable here"
        return "confirmed" if set(tested) == {"confirmed"} else "not confirmed"

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        by_outcome: dict[str, list[str]] = {}
        for finding in self.findings:
            by_outcome.setdefault(finding.outcome, []).append(finding.dataset)
        parts = [f"{outcome} on {', '.join(names)}" for outcome, names in by_outcome.items()]
        return f"{self.claim}: {self.outcome} ({'; '.join(parts) if parts else 'no data set was run'})."


def _untestable(dataset: str, why: str) -> Finding:
    return Finding(dataset, "not testable here", why)


def _found(dataset: str, holds: bool, sentence: str) -> Finding:
    return Finding(dataset, "confirmed" if holds else "not confirmed", sentence)


def beats_baselines(results: Results, protocol: str, dataset: str) -> Finding:
    """Claim 1."""
    alpha = results.settings.table_alpha
    found = {}
    for bits, ours, baseline in product(results.settings.bits, OURS, BASELINES):
        a, b = (results.splits(dataset, protocol, alpha, MethodRun(method, bits)) for method in (ours, baseline))
        if a.size and a.size == b.size:
            where = f"{METHOD_TITLES[ours]} against {METHOD_TITLES[baseline]} at {bits} bits"
            found[where] = paired_difference(a, b)
    if not found:
        return _untestable(dataset, "no pair of methods could be compared")
    n, decided = len(found), Counter(difference.decided for difference in found.values())
    behind = sum(difference.mean <= 0 for difference in found.values())
    worst = min(found, key=lambda where: found[where].mean)
    return _found(
        dataset,
        not behind,
        f"ahead in {n - behind} of {n} comparisons ({decided['won']} clearly, {decided['lost']} clearly behind, "
        f"{decided['open']} within the interval); the narrowest is {worst}, {found[worst].mean:+.1f} points",
    )


def laplacian_gain(results: Results, protocol: str, dataset: str) -> Finding:
    """Claim 2."""
    alpha = results.settings.table_alpha
    pairs = [
        [results.splits(dataset, protocol, alpha, MethodRun(method, bits)) for method in ("LapITQPlus", "ITQPlus")]
        for bits in results.settings.bits
    ]
    known = [(a, b) for a, b in pairs if a.size and a.size == b.size]
    if not known:
        return _untestable(dataset, "one of the two methods has no value")
    # Per split the mean over code lengths, so that the interval is again over splits.
    gain = paired_difference(np.mean([a for a, _ in known], axis=0), np.mean([b for _, b in known], axis=0))
    confirmed = round(gain.mean, 1) >= 1.0 and not gain.low <= 0
    interval = f", 95 % interval {gain.low:+.2f} to {gain.high:+.2f}" if gain.n > 1 else ""
    return _found(
        dataset,
        confirmed,
        f"LapITQ+ is {gain.mean:+.2f} points from ITQ+, mean over {len(known)} code lengths{interval}",
    )


def gain_at_small_alpha(results: Results, protocol: str, dataset: str) -> Finding:
    """Claim 3."""
    bits = results.settings.figure_bits
    gains: dict[float, float] = {}
    over_itq: dict[float, float] = {}
    for alpha in (a for a in results.alphas(dataset, protocol) if a in results.settings.alphas):
        ours = results.mean(dataset, protocol, alpha, MethodRun("LapITQPlus", bits))
        others = [results.mean(dataset, protocol, alpha, MethodRun(method, bits)) for method in BASELINES]
        known = [value for value in others if value is not None]
        itq = results.mean(dataset, protocol, alpha, MethodRun("ITQ", bits))
        if ours is not None and known:
            gains[alpha] = ours - max(known)
            if itq is not None:
                over_itq[alpha] = ours - itq
    smallest = min(results.settings.alphas)
    if len(gains) < 2 or smallest not in gains:
        return _untestable(dataset, f"LapITQ+ has no value at alpha {smallest:g}, or at no other")
    holds = gains[smallest] == max(gains.values()) and gains[smallest] > 0
    shown = ", ".join(f"{gain:+.1f} at {alpha:g}" for alpha, gain in gains.items())
    plain = ", ".join(f"{gain:+.1f} at {alpha:g}" for alpha, gain in over_itq.items())
    return _found(
        dataset,
        holds,
        f"LapITQ+ over the best of the four baselines by alpha: {shown}; over ITQ without source: {plain}",
    )


def insensitive(results: Results, protocol: str, dataset: str) -> Finding:
    """Claim 4."""
    ranges = {}
    for name, runs in sweep_runs(results.settings).items():
        means = [results.mean(dataset, protocol, results.settings.table_alpha, run) for run in runs]
        known = [value for value in means if value is not None]
        if len(known) == len(means):
            ranges[name] = max(known) - min(known)
    if len(ranges) < 2:
        return _untestable(dataset, "the parameters were not varied under this protocol")
    shown = " and ".join(f"{value:.1f} points over {name}" for name, value in ranges.items())
    return _found(
        dataset,
        max(ranges.values()) <= SENSITIVE_FROM,
        f"the means range over {shown}",
    )


def precision_at_all_k(results: Results, protocol: str, dataset: str) -> Finding:
    """Claim 5."""
    alpha, bits = results.settings.table_alpha, results.settings.figure_bits
    curves = {
        method: results.precision_at(dataset, protocol, alpha, MethodRun(method, bits)) for method in OURS + BASELINES
    }
    baselines = [curves[method] for method in BASELINES if curves[method]]
    if not all(curves[method] for method in OURS) or not baselines:
        return _untestable(dataset, "a method has no value")
    margins = {
        k: min(curves[method][k] for method in OURS) - max(curve[k] for curve in baselines) for k in curves[OURS[0]]
    }
    ahead = sum(margin > 0 for margin in margins.values())
    worst = min(margins, key=lambda k: margins[k])
    return _found(
        dataset,
        ahead == len(margins),
        f"both are ahead of all baselines at {ahead} of {len(margins)} values of K; the narrowest margin is "
        f"{margins[worst]:+.1f} points at K = {worst}",
    )


CLAIMS: tuple[tuple[str, str, Callable[[Results, str, str], Finding]], ...] = (
    (
        "ITQ+ and LapITQ+ beat LSH, DSH, CCA-ITQ and CVH at every code length",
        "confirmed where the mean over splits is higher in every comparison",
        beats_baselines,
    ),
    (
        "LapITQ+ beats ITQ+ by 1 to 2 points",
        "confirmed where the mean gain over code lengths is at least 1.0 and its 95 % interval lies above 0",
        laplacian_gain,
    ),
    (
        "The gain is largest at small alpha",
        "confirmed where the lead of LapITQ+ over the best baseline is positive and largest at the smallest alpha",
        gain_at_small_alpha,
    ),
    (
        "The result is insensitive to lambda1 and lambda2 between 0 and 2",
        f"confirmed where the means over the range of either parameter lie within {SENSITIVE_FROM:g} points",
        insensitive,
    ),
    (
        "ITQ+ and LapITQ+ have the best precision at every K",
        "confirmed where both means are above all four baselines at every K up to the size of the database",
        precision_at_all_k,
    ),
)
"""Claim, rule, and the function that judges one data set."""


def judge_claims(results: Results, protocol: str) -> list[Verdict]:
    """Judge all five claims under one protocol, for nearness in target space."""
    return [
        Verdict(claim, rule, tuple(judge(results, protocol, name) for name in results.datasets))
        for claim, rule, judge in CLAIMS
    ]


def bbc_order(results: Results, dataset: str = "bbc") -> Finding:
    """ITQ+ > CCA-ITQ > LSH at every code length, authors' protocol."""
    order = ("ITQPlus", "CCAITQ", "LSH")
    shown, holds = [], True
    for bits in results.settings.bits:
        means = [
            results.mean(dataset, "followup", results.settings.table_alpha, MethodRun(method, bits)) for method in order
        ]
        known = [mean for mean in means if mean is not None]
        if len(known) < len(order):
            return _untestable(dataset, f"a method has no value at {bits} bits")
        holds &= known[0] > known[1] > known[2]
        shown.append(f"{bits} bits {' / '.join(f'{value:.1f}' for value in known)}")
    if not shown:
        return _untestable(dataset, "not run")
    return _found(dataset, holds, "ITQ+ / CCA-ITQ / LSH: " + ", ".join(shown))


def distance_to_table1(results: Results, dataset: str) -> tuple[float, int] | None:
    """Mean absolute difference to Table 1 in points, and the number of cells compared; None if there are none."""
    against = info(dataset).paper
    if against is None or "followup" not in results.protocols:
        return None
    differences = []
    for (name, bits, method), published in table1().items():
        if name == against.name and bits in results.settings.bits:
            mean = results.mean(dataset, "followup", results.settings.table_alpha, MethodRun(method, bits))
            if mean is not None:
                differences.append(abs(mean - published))
    return (float(np.mean(differences)), len(differences)) if differences else None
