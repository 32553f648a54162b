"""The studies, one module for each figure or experiment. ``symdyn study list`` reads this folder without
importing it.
"""

from numerics.evidence import verify_claims

__all__ = ["verify_claims"]
