"""The functions of learning with prior knowledge that are more than one formula, in one place."""

from derivations.prior_knowledge.decoupling_functions import ata, ata_2x2, offdiagonal_peak
from derivations.prior_knowledge.task_functions import forgetting, reversal, shallow

__all__ = ["ata", "ata_2x2", "forgetting", "offdiagonal_peak", "reversal", "shallow"]
