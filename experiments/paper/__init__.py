"""The paper's experiments: what it published, what is run here, and how the two compare.

:mod:`published` holds the paper's figures, :mod:`settings` says what is run, :mod:`task` fits and measures one split,
:mod:`results` gathers, :mod:`tables`, :mod:`figures` and :mod:`claims` present, and :mod:`page` makes the report.
:mod:`check` fits some cells of a written report anew.
"""
