"""The entropy of assignments under the name that the estimator's mapping still uses."""

from .metrics import assignment_entropy as uncertainty

__all__ = ["uncertainty"]
