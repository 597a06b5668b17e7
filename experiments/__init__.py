"""This project's own experiments: ``python -m experiments paper`` and ``python -m experiments transfer``.

They run from a clone and are not part of the installed package. :mod:`experiments.harness` runs tasks, keeps their
results, and writes tables, figures and pages; :mod:`experiments.paper` and :mod:`experiments.transfer` define what is
run and what is shown. :mod:`experiments.datasets` has their data.
"""
