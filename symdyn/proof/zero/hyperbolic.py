"""Hyperbolic functions and their inverses by exponentials, and exponents as combinations of monomials."""

from __future__ import annotations

import sympy as sp

HYPERBOLIC = {
    sp.sinh: lambda z: (sp.exp(z) - sp.exp(-z)) / 2,
    sp.cosh: lambda z: (sp.exp(z) + sp.exp(-z)) / 2,
    sp.tanh: lambda z: 1 - 2 / (sp.exp(2 * z) + 1),
    sp.coth: lambda z: 1 + 2 / (sp.exp(2 * z) - 1),
    sp.sech: lambda z: 2 / (sp.exp(z) + sp.exp(-z)),
    sp.csch: lambda z: 2 / (sp.exp(z) - sp.exp(-z)),
}


def to_exponentials(expr: sp.Expr) -> sp.Expr:
    """Rewrite hyperbolic functions by exponentials, even powers by those of the double argument."""
    expr = expr.replace(_is_even_power, _double_argument)
    for head, rule in HYPERBOLIC.items():
        expr = expr.replace(head, rule)
    return expr


DOUBLE_ARGUMENT = {
    sp.sinh: lambda e: (e - 2 + 1 / e) / 4,
    sp.cosh: lambda e: (e + 2 + 1 / e) / 4,
    sp.csch: lambda e: 4 / (e - 2 + 1 / e),
    sp.sech: lambda e: 4 / (e + 2 + 1 / e),
}


def _is_even_power(e: sp.Expr) -> bool:
    return e.is_Pow and e.base.func in DOUBLE_ARGUMENT and e.exp.is_Integer and e.exp % 2 == 0


def _double_argument(e: sp.Expr) -> sp.Expr:
    return DOUBLE_ARGUMENT[e.base.func](sp.exp(2 * e.base.args[0])) ** (e.exp // 2)


def exponent_terms(argument: sp.Expr) -> list[tuple[sp.Rational, sp.Expr]]:
    """An exponent as a combination of monomials with rational coefficients."""
    out: dict[sp.Expr, sp.Rational] = {}
    for term in sp.Add.make_args(sp.expand(argument)):
        coefficient, monomial = term.as_coeff_Mul()
        if not coefficient.is_Rational:
            coefficient, monomial = sp.Integer(1), term
        out[monomial] = out.get(monomial, sp.Integer(0)) + coefficient
    return [(c, m) for m, c in out.items() if c != 0]


def inverse_function(monomial: sp.Expr) -> tuple[sp.Expr, sp.Rational] | None:
    """exp of an inverse hyperbolic function or logarithm, as a power (base, exponent)."""
    if isinstance(monomial, sp.log):
        return monomial.args[0], sp.Integer(1)
    if isinstance(monomial, sp.atanh):
        z = monomial.args[0]
        return (1 + z) / (1 - z), sp.Rational(1, 2)
    if isinstance(monomial, sp.asinh):
        z = monomial.args[0]
        return z + sp.sqrt(z**2 + 1), sp.Integer(1)
    if isinstance(monomial, sp.acosh):
        z = monomial.args[0]
        return z + sp.sqrt(z**2 - 1), sp.Integer(1)
    return None
