"""What the report of the transfer benchmark consists of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING

from experiments.harness.protocol import RELEVANCES
from experiments.harness.report import Outcome, Report, markdown_tables
from experiments.harness.tables import Section
from experiments.harness.writers import badge
from experiments.transfer.results import TransferResults
from experiments.transfer.tables import summary_values
from experiments.transfer.targets import Judged, judge_targets
from experiments.transfer.words import discipline, left_out, what_was_run
from thpi.report import NARROW_STYLE, figure_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TransferReport(Report[TransferResults]):
    """Targets, and for each meaning of relevant the gains over ITQ without source."""

    name = "transfer"
    title = "The transfer benchmark"
    end_heading = "<h2>What was run</h2>"
    style = NARROW_STYLE

    def sections(self, results: TransferResults) -> list[Section]:
        """One section per meaning of relevant."""
        return [Section(kind) for kind in results.settings.relevances if results.sets(kind)]

    def opening(self, results: TransferResults, figures: Mapping[str, bytes]) -> list[str]:
        """What was run and what became of the targets."""
        parts = [
            "<h1>Does the source help? The transfer benchmark</h1>",
            f"<p class=lead>{len(results.settings.sets)} sets of pairs, three meanings of relevant. Every method "
            "stands between two reference lines: ITQ on the same few pairs, which is what one gets with no source, and "
            "ITQ on all target rows, which is what the missing rows would have given.</p>",
            f"<p>Run: {escape(what_was_run(results))}</p>",
            f"<p><b>Development and confirmation.</b> {escape(discipline(results))}</p>",
        ]
        if "merit" in figures:
            caption = "What a better learner gives by itself, and what the source adds to it; mean over all settings."
            parts.append(figure_html(figures["merit"], caption))
        caption = (
            "Gain over ITQ without source, 95 % interval over splits; hollow: the control, whose pairs are shuffled."
        )
        return [*parts, "<h2>Targets</h2>", _targets(judge_targets(results)), figure_html(figures["gain"], caption)]

    def heading(self, results: TransferResults, section: Section) -> list[str]:
        """The meaning of relevant."""
        return [f"<h2>Relevant = {escape(RELEVANCES[section.relevance])}</h2>"]

    def after(self, results: TransferResults, section: Section, table: str, figures: Mapping[str, bytes]) -> list[str]:
        """MAP against alpha, after the summary."""
        caption = "MAP against the share of rows that are pairs, mean over splits; dashed: ITQ on all target rows."
        return [figure_html(figures[f"alpha-{section.relevance}"], caption)] if table == "summary" else []

    def figures(self, results: TransferResults) -> dict[str, Figure]:
        """Gains, MAP against alpha, and the parts of the gain."""
        from experiments.transfer.figures import draw_alpha, draw_gains
        from experiments.transfer.merit import draw_merits

        kinds = [section.relevance for section in self.sections(results)]
        if not kinds:
            raise ValueError("no setting has a value for every line in every split; nothing to show.")
        merit = draw_merits([value for kind in kinds for value in summary_values(results, kind)])
        drawn = {"gain": draw_gains(results)} | {f"alpha-{kind}": draw_alpha(results, kind) for kind in kinds}
        return drawn if merit is None else drawn | {"merit": merit}

    def files(self, results: TransferResults) -> dict[str, str]:
        """The targets as JSON, and the tables as Markdown for the documentation."""
        judged = judge_targets(results)
        parts = [f"Run: {what_was_run(results)} {discipline(results)}"]
        if judged:
            rows = [f"| {RELEVANCES[j.relevance]} | {j.target} | **{j.outcome}** | {j.found} |" for j in judged]
            parts.append("| relevant = | target | outcome | found |\n|---|---|---|---|\n" + "\n".join(rows))
        parts += markdown_tables(self, results)
        missing = left_out(results)
        if missing:
            listed = "\n".join(f"- {text}" for text in missing)
            parts.append(f"Left out, because a line has no value there:\n\n{listed}")
        return {
            "targets.json": json.dumps([{"outcome": j.outcome, **asdict(j)} for j in judged], indent=1) + "\n",
            "tables.txt": "\n\n".join(parts) + "\n",
        }

    def outcomes(self, results: TransferResults) -> Iterator[Outcome]:
        """One sentence per target."""
        for j in judge_targets(results):
            yield Outcome(j.met, f"{j.relevance}: {j.outcome} - {j.target} {j.found}")


def _targets(judged: list[Judged]) -> str:
    if not judged:
        return "<p>Not judged: the targets need all lines.</p>"
    parts = []
    for relevance in dict.fromkeys(j.relevance for j in judged):
        items = "".join(
            f"<li>{badge(j.met, j.outcome)} {escape(j.target)} <small>{escape(j.found)}</small></li>"
            for j in judged
            if j.relevance == relevance
        )
        parts.append(f"<h3>Relevant = {escape(RELEVANCES[relevance])}</h3><ul class=claims>{items}</ul>")
    return "".join(parts)
