"""How exact the quantiles of Student's t are that scipy gives: those of 1.11 are off by up to 1e-8."""

from __future__ import annotations

from scipy.special import stdtrit

# One degree of freedom is Cauchy's distribution, whose quantile 0.75 is 1.
RELATIVE = 1e-12 if abs(float(stdtrit(1, 0.75)) - 1) < 1e-12 else 1e-7
