"""What all experiments share, in the order in which a result passes through it.

:mod:`data` and :mod:`protocol` define rows and ground truths, :mod:`bench` holds them for one split, :mod:`pool` runs
tasks in parallel, :mod:`store` keeps what they find, :mod:`tables` is the registry of tables, :mod:`writers` renders
a table, :mod:`figures` has the parts of figures, and :mod:`report` puts everything together.
"""
