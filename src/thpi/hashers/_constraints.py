"""What the parameters of the methods may be, in the form that scikit-learn checks."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval

from thpi._types import Constraints

WEIGHT = [Interval(Real, 0, None, closed="left")]
POSITIVE = [Interval(Real, 0, None, closed="neither")]
SHARE = [Interval(Real, 0, 1, closed="both")]
COUNT = [Interval(Integral, 1, None, closed="left")]
SIZE = [Interval(Integral, 0, None, closed="left")]

ITERATION: Constraints = {"tol": WEIGHT, "max_iter": COUNT}
RESTARTS: Constraints = {"n_init": COUNT, **ITERATION}
