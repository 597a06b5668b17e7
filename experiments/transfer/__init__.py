"""The transfer benchmark: does the source help, on twelve sets, for three meanings of relevant?

:mod:`lines` names what is compared, :mod:`settings` the data sets and the grid, :mod:`task` fits and measures one
split, :mod:`results` gathers, :mod:`tables`, :mod:`orders`, :mod:`rivals`, :mod:`targets`, :mod:`merit` and
:mod:`figures` present, and :mod:`page` makes the report.
"""
