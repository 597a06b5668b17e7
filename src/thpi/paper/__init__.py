"""The paper's experiments: what it published, what is run here, and how the two compare.

:mod:`published` holds the paper's figures, :mod:`experiments` says what is run, :mod:`results` gathers it from the
store, :mod:`tables`, :mod:`figures` and :mod:`claims` present it, and :mod:`report` makes the page.
"""
