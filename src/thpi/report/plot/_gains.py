"""What the source adds, by meaning of relevant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from thpi.auto import AutoHasher, find_relevance
from thpi.evaluation import Diagnosis, PairedDifference
from thpi.report.plot._axes import axes_or_new, bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def gains(
    found: Diagnosis | AutoHasher | Iterable[AutoHasher] | Mapping[str, AutoHasher | PairedDifference],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the gain by the source, in points of MAP, with its 95 % interval; one line per meaning of relevant.

    A filled point has an interval that does not contain 0. The gain is that of the best candidate with source over the
    best without, on rows that neither was chosen by (:attr:`thpi.AutoHasher.gain_`).

    Parameters
    ----------
    found : a diagnosis; or fitted AutoHashers, one or several; or AutoHashers or differences by the name to show.
    ax : axes to draw on; None: those of a new figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> differences = {"near in target space": PairedDifference(0.2, -0.4, 0.8, 200)}
    >>> ax = gains(differences | {"same class": PairedDifference(4.7, 3.1, 6.3, 200)}, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['near in target space', 'same class']
    """
    named = _differences(found)
    if not named:
        raise ValueError("found is empty; at least one gain is needed.")
    ax = axes_or_new(ax, figsize=(6.4, 1.0 + 0.45 * len(named)), layout="constrained")
    ax.axvline(0, color="#888888", linewidth=1)
    colour = ax.plot([], [])[0].get_color()  # the next of the user's own cycle
    for place, (_, gain) in enumerate(named):
        limits = [[gain.mean - gain.low], [gain.high - gain.mean]]
        fill = "none" if gain.decided == "open" else colour
        ax.errorbar(gain.mean, place, xerr=limits, fmt="o", color=colour, mfc=fill, capsize=4, markersize=7)
        ax.annotate(f"{gain.mean:+.1f}", (gain.mean, place), (0, 7), textcoords="offset points", ha="center")
    ax.set_yticks(range(len(named)), [name for name, _ in named])
    ax.set_ylim(len(named) - 0.5, -0.6)
    ax.set_xlabel("gain by the source, points of MAP")
    bare(ax)
    return ax


def _differences(
    found: Diagnosis | AutoHasher | Iterable[AutoHasher] | Mapping[str, AutoHasher | PairedDifference],
) -> list[tuple[str, PairedDifference]]:
    if isinstance(found, Diagnosis):
        return [(answer.title, answer.gain) for answer in found.answers]
    if isinstance(found, Mapping):
        return [(name, _difference(each)) for name, each in found.items()]
    hashers = [found] if isinstance(found, AutoHasher) else list(found)
    return [(find_relevance(hasher.relevance).title, _difference(hasher)) for hasher in hashers]


def _difference(found: AutoHasher | PairedDifference) -> PairedDifference:
    if isinstance(found, PairedDifference):
        return found
    if not isinstance(found, AutoHasher):
        raise TypeError(f"found has {type(found).__name__}; it must be a fitted AutoHasher or a PairedDifference.")
    low, high = found.gain_interval_
    return PairedDifference(found.gain_, low, high, len(found.codes_))
