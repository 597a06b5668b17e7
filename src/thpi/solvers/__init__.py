"""The mathematics of the hashers as plain functions on arrays, one problem a file; the formula is in the docstring.

A solver knows no estimator, no data set and no parameter of a user: hashers check these. It imports numpy, scipy,
scikit-learn's helpers, :mod:`thpi.kernels` and :mod:`thpi._types`. Rows on disk come in by :class:`blocks.Streamed`.
"""
