"""The looks of the report: one column, light or dark as the reader's system is, tables that scroll on a phone."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --ink: #1c1f24; --paper: #fdfdfb; --faint: #6a6f78; --line: #d9dadd; --soft: #f1f1ec;
  --good: #1a7f4b; --bad: #b3401f; --open: #6a6f78; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e0; --paper: #17191c; --faint: #9ba0a8; --line: #363a40;
  --soft: #202327; --good: #5cc592; --bad: #f08a63; --open: #9ba0a8; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { margin-top: 2.6rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
.lead { font-size: 1.1rem; } .scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top; }
th:first-child { text-align: left; } thead th { vertical-align: bottom; }
td small, th small { display: block; color: var(--faint); font-weight: 400; white-space: nowrap; }
.reference { background: var(--soft); } .difference.far { color: var(--bad); font-weight: 600; }
.notes { color: var(--faint); font-size: .85rem; }
.claims { list-style: none; padding: 0; } .claims > li { margin: .8rem 0; }
.badge { display: inline-block; border: 1px solid currentcolor; border-radius: 1rem; padding: 0 .6rem;
  font-size: .8rem; }
.confirmed { color: var(--good); } .not-confirmed { color: var(--bad); } .not-testable-here { color: var(--open); }
summary { cursor: pointer; color: var(--faint); }
figure { margin: 1.5rem 0; }
figure img { width: 100%; height: auto; background: #fff; border-radius: .4rem; padding: .4rem; }
figcaption, footer { color: var(--faint); font-size: .9rem; } dt { font-weight: 600; } dd { margin: 0 0 .8rem 0; }
"""
