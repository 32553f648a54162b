"""The functions of learning with prior knowledge that are more than one formula, in one place."""

from derivations.prior_knowledge.decoupling_functions import ata, ata_2x2, offdiagonal_peak
from derivations.prior_knowledge.flow_functions import network_function, ntk, qqt, rsm_input, rsm_output
from derivations.prior_knowledge.limit_functions import Learnable, learnable
from derivations.prior_knowledge.pivot_functions import effective_start
from derivations.prior_knowledge.relabeling_functions import missed_modes, reversal_like
from derivations.prior_knowledge.rotation_functions import weights
from derivations.prior_knowledge.separatrix_functions import separatrix_distance
from derivations.prior_knowledge.task_functions import forgetting, reversal, shallow

__all__ = [
    "Learnable",
    "ata",
    "ata_2x2",
    "effective_start",
    "forgetting",
    "learnable",
    "missed_modes",
    "network_function",
    "ntk",
    "offdiagonal_peak",
    "qqt",
    "reversal",
    "reversal_like",
    "rsm_input",
    "rsm_output",
    "separatrix_distance",
    "shallow",
    "weights",
]
