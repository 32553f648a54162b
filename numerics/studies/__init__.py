"""The studies, one module for each figure or experiment. ``symdyn study list`` reads this folder without
importing it.
"""

from numerics.lab.evidence import evidence_state, verify_claims

__all__ = ["evidence_state", "verify_claims"]
