"""The kernel: it checks certificates of scalar claims, and searches for nothing.

A claim is a `Lemma` over real numbers (`symdyn.kernel.lemma`). A `Proof` is a list of steps, each of which adds the
sign of a polynomial, or that it vanishes, to what is known (`symdyn.kernel.steps`); `check` refuses it unless every
step follows from what is known before it, and the last ones show what is claimed. Signs are sets
(`symdyn.kernel.signs`), and polynomials are those of FLINT (`symdyn.kernel.polynomials`), the one thing outside of this
package that is believed.
"""

from symdyn.kernel.lemma import Lemma, Number, Part, Power, Product, Relation, Sum, Term, Variable
from symdyn.kernel.polynomials import Refused, ring
from symdyn.kernel.signs import Sign
from symdyn.kernel.steps import (
    Cases,
    Combination,
    Divisor,
    Dominates,
    Equations,
    Monomial,
    Monotone,
    Proof,
    Root,
    Rule,
    Section,
    Step,
    Use,
    check,
)

__all__ = [
    "Cases",
    "Combination",
    "Divisor",
    "Dominates",
    "Equations",
    "Lemma",
    "Monomial",
    "Monotone",
    "Number",
    "Part",
    "Power",
    "Product",
    "Proof",
    "Refused",
    "Relation",
    "Root",
    "Rule",
    "Section",
    "Sign",
    "Step",
    "Sum",
    "Term",
    "Use",
    "Variable",
    "check",
    "ring",
]
