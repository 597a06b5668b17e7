"""The paper's claims, each decided by confidence intervals: over the mean of the sets, then a set at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import numpy.typing as npt

from experiments.paper.published import METHOD_TITLES
from experiments.paper.results import Results
from experiments.paper.runs import MethodRun
from experiments.paper.sets import paper_set
from experiments.paper.settings import sweep_runs
from thpi.evaluation import PairedDifference, paired_difference

Outcome = Literal["confirmed", "not confirmed", "undecided", "not testable here"]
Floats = npt.NDArray[np.float64]

OURS = ("ITQPlus", "LapITQPlus")
BASELINES = ("LSH", "DSH", "CCAITQ", "CVH")
SENSITIVE_FROM = 2.0
"""Claim 4 holds where the best and the worst value of a parameter lie within this many points."""
MEAN = "mean over sets"


@dataclass(frozen=True)
class Finding:
    """What one data set, or the mean over sets, says about a claim."""

    dataset: str
    outcome: Outcome
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """A claim, the rule by which it is decided, what the mean over sets says, and what each set says."""

    claim: str
    rule: str
    overall: Finding
    findings: tuple[Finding, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """That of the mean over sets."""
        return self.overall.outcome

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        by_outcome: dict[str, list[str]] = {}
        for finding in self.findings:
            by_outcome.setdefault(finding.outcome, []).append(finding.dataset)
        parts = [f"{outcome} on {', '.join(names)}" for outcome, names in by_outcome.items()]
        return f"{self.claim}: {self.outcome} ({'; '.join(parts) if parts else 'no data set was run'})."


class Numbers:
    """Values by split of one set, or their means over several sets, split by split."""

    def __init__(self, results: Results, protocol: str, datasets: Sequence[str], title: str) -> None:
        self.results, self.protocol, self.datasets, self.title = results, protocol, datasets, title

    def map(self, run: MethodRun, alpha: float | None = None) -> Floats:
        """MAP by split, in percent; empty where a set has none."""
        at = self.results.settings.table_alpha if alpha is None else alpha
        return _mean([self.results.splits(name, self.protocol, at, run) for name in self.datasets])

    def precision(self, run: MethodRun) -> Floats:
        """Precision by split, mean over the K of Figure 2."""
        alpha = self.results.settings.table_alpha
        curves = [self.results.precision_splits(name, self.protocol, alpha, run) for name in self.datasets]
        return _mean([curve.mean(axis=1) if curve.size else np.empty(0) for curve in curves])

    def untestable(self, why: str) -> Finding:
        """Return that nothing can be said."""
        return Finding(self.title, "not testable here", why)

    def found(self, differences: Sequence[PairedDifference], sentence: str, least: float = 0.0) -> Finding:
        """Confirmed if all intervals lie above ``least``, not confirmed if one lies below it, else undecided."""
        outcome: Outcome = "undecided"
        if all(difference.low > least for difference in differences):
            outcome = "confirmed"
        elif any(difference.high < least for difference in differences):
            outcome = "not confirmed"
        return Finding(self.title, outcome, sentence)


def _mean(values: list[Floats]) -> Floats:
    n = min((len(one) for one in values), default=0)
    return np.mean([one[:n] for one in values], axis=0) if n else np.empty(0)


def _shown(difference: PairedDifference) -> str:
    interval = f" ({difference.low:+.1f} to {difference.high:+.1f})" if difference.n > 1 else ""
    return f"{difference.mean:+.1f}{interval}"


def _against_baselines(numbers: Numbers, value: Callable[[str], Floats]) -> Finding:
    """ITQ+ and LapITQ+ against each of the four baselines: eight intervals."""
    found: dict[str, PairedDifference] = {}
    for ours, baseline in product(OURS, BASELINES):
        a, b = value(ours), value(baseline)
        if not a.size or a.size != b.size:
            return numbers.untestable(f"{METHOD_TITLES[ours]} or {METHOD_TITLES[baseline]} has no value")
        found[f"{METHOD_TITLES[ours]} over {METHOD_TITLES[baseline]}"] = paired_difference(a, b)
    narrow = min(found, key=lambda name: found[name].mean)
    won = sum(difference.decided == "won" for difference in found.values())
    lost = sum(difference.decided == "lost" for difference in found.values())
    sentence = f"ahead in {won} of {len(found)} comparisons, behind in {lost}; the narrowest is {narrow}, "
    return numbers.found(list(found.values()), sentence + f"{_shown(found[narrow])} points")


def beats_baselines(numbers: Numbers) -> Finding:
    """Claim 1, mean over code lengths."""
    bits = numbers.results.settings.bits
    return _against_baselines(numbers, lambda method: _mean([numbers.map(MethodRun(method, b)) for b in bits]))


def laplacian_gain(numbers: Numbers) -> Finding:
    """Claim 2, mean over code lengths."""
    bits = numbers.results.settings.bits
    a, b = (_mean([numbers.map(MethodRun(method, length)) for length in bits]) for method in ("LapITQPlus", "ITQPlus"))
    if not a.size or a.size != b.size:
        return numbers.untestable("LapITQ+ or ITQ+ has no value")
    gain = paired_difference(a, b)
    outcome: Outcome = "undecided"
    if gain.high < 1.0:
        outcome = "not confirmed"
    elif gain.low > 0:
        outcome = "confirmed"
    return Finding(numbers.title, outcome, f"LapITQ+ is {_shown(gain)} points from ITQ+")


def gain_at_small_alpha(numbers: Numbers) -> Finding:
    """Claim 3: the lead over the best baseline at the smallest alpha, against the lead at every other."""
    settings = numbers.results.settings
    leads: dict[float, Floats] = {}
    for alpha in settings.alphas:
        ours = numbers.map(MethodRun("LapITQPlus", settings.figure_bits), alpha)
        others = [numbers.map(MethodRun(method, settings.figure_bits), alpha) for method in BASELINES]
        if ours.size and all(other.size == ours.size for other in others):
            leads[alpha] = ours - max(others, key=lambda other: float(other.mean()))
    smallest = min(settings.alphas)
    if len(leads) < 2 or smallest not in leads:
        return numbers.untestable(f"no lead is known at alpha {smallest:g}, or at no other")
    n = min(map(len, leads.values()))
    found = [paired_difference(leads[smallest][:n], lead[:n]) for alpha, lead in leads.items() if alpha != smallest]
    shown = ", ".join(f"{lead.mean():+.1f} at {alpha:g}" for alpha, lead in leads.items())
    return numbers.found(found, f"LapITQ+ over the best of the four baselines by alpha: {shown}")


def insensitive(numbers: Numbers) -> Finding:
    """Claim 4: best against worst value of each parameter."""
    ranges: dict[str, PairedDifference] = {}
    for name, runs in sweep_runs(numbers.results.settings).items():
        values = [numbers.map(run) for run in runs]
        n = min(map(len, values))
        if not n:
            return numbers.untestable("the parameters were not varied under this protocol")
        best, worst = (choose(values, key=lambda v: float(v[:n].mean()))[:n] for choose in (max, min))
        ranges[name] = paired_difference(best, worst)
    shown = " and ".join(f"{_shown(value)} points over {name}" for name, value in ranges.items())
    outcome: Outcome = "undecided"
    if all(value.high <= SENSITIVE_FROM for value in ranges.values()):
        outcome = "confirmed"
    elif any(value.low > SENSITIVE_FROM for value in ranges.values()):
        outcome = "not confirmed"
    return Finding(numbers.title, outcome, f"the best value is ahead of the worst by {shown}")


def precision_at_all_k(numbers: Numbers) -> Finding:
    """Claim 5, mean over K."""
    bits = numbers.results.settings.figure_bits
    return _against_baselines(numbers, lambda method: numbers.precision(MethodRun(method, bits)))


_EIGHT = (
    "eight comparisons, the mean over {}; confirmed if all 95 % intervals lie above 0, not confirmed if one lies below"
)
CLAIMS: tuple[tuple[str, str, Callable[[Numbers], Finding]], ...] = (
    ("ITQ+ and LapITQ+ beat LSH, DSH, CCA-ITQ and CVH", _EIGHT.format("code lengths"), beats_baselines),
    (
        "LapITQ+ beats ITQ+ by 1 to 2 points",
        "mean over code lengths; confirmed if the 95 % interval lies above 0 and reaches 1, not confirmed if it lies "
        "below 1",
        laplacian_gain,
    ),
    (
        "The gain is largest at small alpha",
        "the lead of LapITQ+ over the best baseline at the smallest alpha less that at each other alpha; confirmed if "
        "all 95 % intervals lie above 0, not confirmed if one lies below",
        gain_at_small_alpha,
    ),
    (
        "The result is insensitive to lambda1 and lambda2 between 0 and 2",
        f"best less worst value of either parameter; confirmed if both 95 % intervals end below {SENSITIVE_FROM:g} "
        f"points, not confirmed if one begins above",
        insensitive,
    ),
    ("ITQ+ and LapITQ+ have the best precision at K", _EIGHT.format("K"), precision_at_all_k),
)
"""Claim, rule, and the function that decides it."""


def judge_claims(results: Results, protocol: str) -> list[Verdict]:
    """Judge all five claims under one protocol, for nearness in target space."""
    counted = [name for name in results.datasets if paper_set(name).counted] or list(results.datasets)
    sets = [Numbers(results, protocol, [name], name) for name in results.datasets]
    mean = Numbers(results, protocol, counted, MEAN)
    return [Verdict(claim, rule, judge(mean), tuple(map(judge, sets))) for claim, rule, judge in CLAIMS]
