"""The matrix calculus: sums of words in matrices of symbolic shape, with rules, derivatives and arrays.

>>> import sympy
>>> from symdyn.calculus.matrix import matrix, kron, vec
>>> n, m = sympy.symbols("n m", integer=True, positive=True)
>>> A, X, B = matrix("A", n, m), matrix("X", m, m), matrix("B", m, n)
>>> (vec(A @ X @ B) - kron(B.T, A) @ vec(X)).is_zero
True
"""

from __future__ import annotations

from symdyn.calculus.matrix.arrays import evaluate, evaluate_arrays
from symdyn.calculus.matrix.declarations import (
    balanced,
    cayley,
    commuting,
    inverse_of,
    nonzero,
    orthogonal,
    orthonormal_columns,
    positive,
    projector,
    psd_root,
    unit,
    whitened,
)
from symdyn.calculus.matrix.expression import (
    Expression,
    basis,
    diagonal,
    entry,
    eye,
    from_scalar,
    kron,
    kron_sum,
    matrix,
    sum_over,
    trace,
    vec,
    vector,
    zero,
)
from symdyn.calculus.matrix.gaussian import gaussian_mean
from symdyn.calculus.matrix.rules import Declaration, Rule, Rules, random_matrix, random_rational, rule
from symdyn.calculus.matrix.sums import ScalarSum
from symdyn.calculus.matrix.transform import (
    derivative,
    letters_of,
    opened,
    substitute,
    symbols_of,
    within_sums,
)
from symdyn.calculus.matrix.words import Index, Letter, ScalarWord, TraceWord

__all__ = [
    "Declaration",
    "Expression",
    "Index",
    "Letter",
    "Rule",
    "Rules",
    "ScalarSum",
    "ScalarWord",
    "TraceWord",
    "balanced",
    "basis",
    "cayley",
    "commuting",
    "derivative",
    "diagonal",
    "entry",
    "evaluate",
    "evaluate_arrays",
    "eye",
    "from_scalar",
    "gaussian_mean",
    "inverse_of",
    "kron",
    "kron_sum",
    "letters_of",
    "matrix",
    "nonzero",
    "opened",
    "orthogonal",
    "orthonormal_columns",
    "positive",
    "projector",
    "psd_root",
    "random_matrix",
    "random_rational",
    "rule",
    "substitute",
    "sum_over",
    "symbols_of",
    "trace",
    "unit",
    "vec",
    "vector",
    "whitened",
    "within_sums",
    "zero",
]
