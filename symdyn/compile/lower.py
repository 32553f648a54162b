"""From SymPy to a graph of elementary operations, each computed once.

Lowering takes a formula apart into the operations of `symdyn.compile.heads`. Equal nodes are one node, so
whatever occurs twice, in one output or in several, is shared. Three things happen on the way:

* Numbers. A subtree without symbols becomes one constant.
* Norms. √(c vᵀv) becomes √c ‖v‖, even powers of ‖v‖ stay vᵀv; hence gradients at v = 0 are finite, and exact
  where the formula is smooth. Where vᵀv is added to a square under a root, or divided, and where uᵀv is divided by
  lengths, squares may underflow: these are operations of their own, which fall back on v.
* Guards. Within a piece of a piecewise formula, an operand that could be singular off the piece is replaced
  there by a harmless constant, so that the branch not taken spoils neither value nor gradient (the double
  where; NumPy, which has no gradients, does without). What is finite on the whole domain needs no guard, and
  is shared between the pieces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import sympy
from sympy.core.relational import Relational
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean, BooleanFalse, BooleanTrue

from symdyn.calculus.formula import formula
from symdyn.calculus.vectors import InnerProductSymbol
from symdyn.compile.heads import HEADS, OPERATIONS, RELATIONAL, UnsupportedHead
from symdyn.compile.named import NamedFunction, cells_of, unfold
from symdyn.compile.signs import Signs, is_manifest, is_nonnegative, is_total

Expr = Any
Node = tuple[Any, ...]
_COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "equal", "unequal", "dot"})


class Graph:
    """Nodes (operation, operand, …) in order of computation; operands are positions in `nodes`.

    Leaves are ("input", name) and ("constant", number), where the number is an exact SymPy expression.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._position: dict[Node, int] = {}

    def add(self, operation: str, *operands: Any) -> int:
        if operation in _COMMUTATIVE:
            operands = tuple(sorted(operands))
        node = (operation, *operands)
        if node not in self._position:
            self._position[node] = len(self.nodes)
            self.nodes.append(node)
        return self._position[node]

    def constant(self, value: Expr) -> int:
        return self.add("constant", formula(value))

    def is_constant(self, position: int) -> bool:
        return bool(self.nodes[position][0] == "constant")


class Lowering:
    """Lowers the expressions of a function called `name`; `inputs` maps symbols and vectors to arguments.

    `signs` states which symbols are non-negative (1) or non-positive (−1) on the domain of the function.
    """

    def __init__(self, name: str, inputs: Mapping[Any, str], signs: Signs | None = None) -> None:
        self.name = name
        self.inputs = inputs
        self.signs: Signs = signs or {}
        self.graph = Graph()
        self._done: dict[tuple[Expr, int | None], int] = {}
        self._total: dict[Expr, bool] = {}

    def scalar(self, expr: Expr, active: int | None = None) -> int:
        """The node of a scalar expression; `active` is the node of the condition under which it is used."""
        key = (expr, None if self._is_total(expr) else active)
        if key not in self._done:
            self._done[key] = self._lower(*key)
        return self._done[key]

    def _is_total(self, expr: Expr) -> bool:
        if expr not in self._total:
            self._total[expr] = is_total(expr, self.signs)
        return self._total[expr]

    def vector(self, vector: Any) -> int:
        if vector not in self.inputs:
            raise ValueError(f"{self.name}: the vector {vector} is not among the arguments")
        return self.graph.add("input", self.inputs[vector])

    def operate(self, operation: str, *operands: int, active: int | None = None) -> int:
        """An operation whose last operand is guarded: off `active` it is replaced by a harmless constant."""
        return self.graph.add(operation, *operands[:-1], self._guarded(operation, operands[-1], active))

    def _guarded(self, operation: str, operand: int, active: int | None) -> int:
        """The operand of an operation, replaced by a harmless constant off `active` if there is one."""
        harmless = OPERATIONS[operation].harmless
        if harmless is None or active is None or self._is_harmless(operation, operand, active):
            return operand
        return self.graph.add("guard", active, operand, self.graph.constant(int(harmless)))

    def _is_harmless(self, operation: str, operand: int, active: int) -> bool:
        if self.graph.is_constant(operand):
            return True
        return operation in ("divide", "square_over", "sqrt") and self._is_positive_off(operand, active)

    def _is_positive_off(self, position: int, active: int) -> bool:
        """Whether guards below a node make it a positive number where `active` does not hold."""
        operation, *operands = self.graph.nodes[position]
        if operation == "constant":
            return float(operands[0]) > 0
        if operation == "guard" and operands[0] == active:
            return self._is_positive_off(operands[2], active)
        known = operation in ("multiply", "divide", "sqrt")
        return known and all(self._is_positive_off(operand, active) for operand in operands)

    def _lower(self, expr: Expr, active: int | None) -> int:
        if isinstance(expr, InnerProductSymbol):
            return self.graph.add("dot", self.vector(expr.left), self.vector(expr.right))
        if expr.is_Symbol:
            if expr not in self.inputs:
                raise ValueError(f"{self.name}: the symbol {expr} is not among the arguments")
            return self.graph.add("input", self.inputs[expr])
        if not expr.free_symbols:
            return self._number(expr)
        if isinstance(expr, NamedFunction):
            return self._named(expr, active)
        if expr.is_Add:
            return self._sum(expr, active)
        if expr.is_Mul:
            return self._product(expr, active)
        if expr.is_Pow:
            return self._power(expr.base, expr.exp, active)
        if isinstance(expr, sympy.Piecewise):
            return self.choose(self.split([(p.cond, p.expr) for p in expr.args], active), self.scalar)
        return self._function(expr, active)

    def _number(self, expr: Expr) -> int:
        value = unfold(expr)
        for atom in sympy.preorder_traversal(value):
            self._check_constant(atom)
        if value.is_real is not True and value not in (sympy.oo, -sympy.oo):
            decided = value.evalf(30)
            if not (decided.is_Float or decided.is_Integer or decided.is_Rational):
                raise UnsupportedHead(self.name, str(value), advice="It is not a real number.")
        return self.graph.constant(value)

    def _check_constant(self, atom: Expr) -> None:
        if isinstance(atom, sympy.Float):
            raise UnsupportedHead(self.name, f"Float {atom}", advice="Write it as a Rational.")
        structural = isinstance(atom, (Boolean, Relational, ExprCondPair, sympy.Piecewise, sympy.Number))
        known = structural or atom.is_NumberSymbol or atom.is_Add or atom.is_Mul or atom.is_Pow
        if not known and atom.func not in HEADS:
            raise UnsupportedHead(self.name, _head_name(atom))

    def _sum(self, expr: Expr, active: int | None) -> int:
        terms = list(expr.args)
        exponential = next((term for term in terms if isinstance(term, sympy.exp)), None)
        if exponential is not None and sympy.S.NegativeOne in terms:
            terms = [term for term in terms if term not in (exponential, sympy.S.NegativeOne)]
            total = self.operate("expm1", self.scalar(exponential.args[0], active), active=active)
        else:
            terms.sort(key=lambda term: term.could_extract_minus_sign())
            total = self.scalar(terms.pop(0), active)
        for term in terms:
            if term.could_extract_minus_sign():
                total = self.graph.add("subtract", total, self.scalar(-term, active))
            else:
                total = self.graph.add("add", total, self.scalar(term, active))
        return total

    def _product(self, expr: Expr, active: int | None) -> int:
        numbers = [factor for factor in expr.args if not factor.free_symbols]
        factors = [factor.as_base_exp() for factor in expr.args if factor.free_symbols]
        over, under, ratios = _paired_squares(_merged(factors))
        lengths, under = _lengths(under)
        squares = [pair for pair in over if under and _is_square(pair[0]) and pair[1] == 1][:1]
        over = [pair for pair in over if pair not in squares]
        numerator = [self._factor(base, exponent, lengths, active) for base, exponent in over]
        numerator += [self._integer_power(self.scalar(ratio, active), 2) for ratio in ratios]
        denominator = [self.scalar(base**exponent, active) for base, exponent in under]
        coefficient = sympy.Mul(*numbers)
        if squares:
            dot = squares[0][0]
            below, vector = self._multiply(denominator), self.vector(dot.left)
            numerator.append(self.operate("square_over", vector, self.scalar(dot), below, active=active))
            denominator = []
        product = self._multiply(numerator) if numerator else None
        if coefficient == -1 and product is not None:
            product = self.graph.add("negative", product)
        elif coefficient != 1 or product is None:
            constant = self._number(coefficient)
            product = constant if product is None else self.graph.add("multiply", constant, product)
        for divisor in denominator:
            product = self.operate("divide", product, divisor, active=active)
        for vector in lengths.elements():
            length = self.graph.add("norm", self.vector(vector))
            product = self.operate("divide", product, length, active=active)
        return product

    def _factor(self, base: Expr, exponent: Expr, lengths: Counter[Any], active: int | None) -> int:
        """A factor above the line. An inner product takes lengths from below it, so that uᵀv/(‖u‖‖v‖) keeps its digits
        however short the vectors are.
        """
        scaled = isinstance(base, InnerProductSymbol) and (lengths[base.left] > 0 or lengths[base.right] > 0)
        if exponent != 1 or not scaled:
            return self.scalar(base**exponent, active)
        vectors, below = (base.left, base.right), []
        for vector in vectors:
            taken = lengths[vector] > 0
            lengths[vector] -= taken
            length = self.graph.add("norm", self.vector(vector)) if taken else self.graph.constant(1)
            below.append(self._guarded("divide", length, active))
        return self.graph.add("dot_over", *map(self.vector, vectors), *below)

    def _multiply(self, factors: list[int]) -> int:
        product = factors[0]
        for factor in factors[1:]:
            product = self.graph.add("multiply", product, factor)
        return product

    def _power(self, base: Expr, exponent: Expr, active: int | None) -> int:
        if exponent.is_Rational and exponent.is_negative:
            reciprocal = self.scalar(sympy.Pow(base, -exponent), active)
            return self.operate("divide", self.graph.constant(1), reciprocal, active=active)
        if exponent.is_Integer:
            return self._integer_power(self.scalar(base, active), int(exponent))
        if exponent.is_Rational and exponent.q == 2:
            return self._integer_power(self._root(base, active), int(exponent.p))
        if exponent.could_extract_minus_sign() and not exponent.is_number:
            reciprocal = self.scalar(sympy.Pow(base, -exponent), active)
            return self.operate("divide", self.graph.constant(1), reciprocal, active=active)
        if _is_square(base):
            base, exponent = sympy.sqrt(base), 2 * exponent
        guarded = self.scalar(base, active)
        if active is not None and not self.graph.is_constant(guarded):
            guarded = self.graph.add("guard", active, guarded, self.graph.constant(1))
        return self.graph.add("power", guarded, self.scalar(exponent, active))

    def _integer_power(self, base: int, exponent: int) -> int:
        if exponent == 1:
            return base
        half = self._integer_power(base, exponent // 2)
        square = self.graph.add("multiply", half, half)
        return self.graph.add("multiply", square, base) if exponent % 2 else square

    def _root(self, base: Expr, active: int | None) -> int:
        """√base, with vᵀv taken out of the root as ‖v‖; of a piecewise quantity, the root of each piece."""
        if is_nonnegative(base, self.signs) and self._is_total(base):
            active = None
        if isinstance(base, NamedFunction) and base.quantity.cells:
            return self.choose(self.split(cells_of(base), active, exclusive=False), self._root)
        factors = [factor.as_base_exp() for factor in sympy.Mul.make_args(base)]
        lengths = [(b, e) for b, e in factors if _is_square(b) and e.is_Integer and e % 2]
        if not lengths:
            return self.operate("sqrt", self.scalar(base, active), active=active)
        norms = sympy.Mul(*(b**e for b, e in lengths))
        rest = base / norms
        root = None if rest == 1 else self.scalar(sympy.sqrt(rest), active)
        for dot, power in lengths:
            length = self._integer_power(self.graph.add("norm", self.vector(dot.left)), abs(int(power)))
            if power < 0:
                root = self.operate("divide", self._or_one(root), length, active=active)
            else:
                root = length if root is None else self.graph.add("multiply", root, length)
        return self._or_one(root)

    def _or_one(self, position: int | None) -> int:
        return self.graph.constant(1) if position is None else position

    def _named(self, expr: NamedFunction, active: int | None) -> int:
        quantity = expr.quantity
        if quantity.operation == "root_sum" and (found := _without_square(expr.args[1])) is not None:
            return self._root_of_squares(expr.args[0], *found, active)
        if quantity.operation == "cosine_distance":
            square, _, other = expr.args
            if not _is_angle(*expr.args):
                return self.scalar(expr.defined(), active)
            return self.graph.add("cosine_distance", self.vector(square.left), self.vector(other.left))
        if quantity.operation is not None:
            operands = [self.scalar(arg, active) for arg in expr.args]
            return self.operate(quantity.operation, *operands, active=active)
        if not quantity.cells:
            return self.scalar(expr.defined(), active)
        return self.choose(self.split(cells_of(expr), active, exclusive=False), self.scalar)

    def _root_of_squares(self, a: Expr, dot: Expr, rest: Expr, active: int | None) -> int:
        """√(a² + rest vᵀv)."""
        known = self.scalar(a, active), self.scalar(rest, active), self.scalar(dot, active)
        return self.graph.add("root_of_squares", *known, self.vector(dot.left))

    def split(
        self, pieces: list[tuple[Any, Expr]], active: int | None, exclusive: bool = True
    ) -> list[tuple[int | None, int | None, Expr]]:
        """(condition, mask, form) of each piece: where it is chosen if none before is, and where it must be sound.

        A condition of None means otherwise. The mask of a piece is `active` and its condition; if the pieces
        are `exclusive`, it leaves out the conditions before, under which its form need not make sense.
        """
        result: list[tuple[int | None, int | None, Expr]] = []
        outside = active
        seen: list[Any] = []
        for condition, form in pieces:
            if condition == sympy.false:
                continue
            if condition == sympy.true or is_manifest(condition, self.signs):
                result.append((None, outside, form))
                return result
            test = self.boolean(condition, active)
            last = sympy.Not(condition) in seen
            seen.append(condition)
            mask = outside if last and exclusive else self._both(outside if exclusive else active, test)
            result.append((None if last else test, mask, form))
            if last:
                return result
            outside = self._both(outside, self.graph.add("not", test))
        return result

    def _both(self, one: int | None, other: int) -> int:
        return other if one is None else self.graph.add("and", one, other)

    def choose(
        self,
        pieces: list[tuple[int | None, int | None, Expr]],
        lower: Callable[[Expr, int | None], int],
    ) -> int:
        """Nested wheres over lowered pieces; NaN where no condition holds."""
        values: list[tuple[int | None, int]] = [(test, lower(form, mask)) for test, mask, form in pieces]
        last_condition, value = values[-1]
        if last_condition is not None:
            value = self.graph.add("where", last_condition, value, self.graph.constant(sympy.nan))
        for condition, other in reversed(values[:-1]):
            value = other if other == value else self.graph.add("where", condition, other, value)
        return value

    def _function(self, expr: Expr, active: int | None) -> int:
        head = HEADS.get(expr.func)
        if head is None:
            raise UnsupportedHead(self.name, _head_name(expr))
        if head.rewrite is not None:
            return self.scalar(head.rewrite(*expr.args), active)
        if expr.func in (sympy.Max, sympy.Min):
            operands = [self.scalar(arg, active) for arg in expr.args]
            total = operands[0]
            for operand in operands[1:]:
                total = self.graph.add(str(head.via), total, operand)
            return total
        if len(expr.args) > 1 and expr.func is not sympy.atan2:
            advice = "Only its principal branch, with one argument, is."
            raise UnsupportedHead(
                self.name, f"{_head_name(expr)} of {len(expr.args)} arguments", advice=advice
            )
        if isinstance(expr, sympy.log) and expr.args[0].is_Add and sympy.S.One in expr.args[0].args:
            return self.operate("log1p", self.scalar(expr.args[0] - 1, active), active=active)
        operands = [self.scalar(arg, active) for arg in expr.args]
        return self.operate(str(head.via), *operands, active=active)

    def boolean(self, condition: Any, active: int | None = None) -> int:
        """The node of a Boolean: relations joined by And, Or, Not."""
        if isinstance(condition, (BooleanTrue, BooleanFalse)):
            return self.graph.add("truth", bool(condition))
        if isinstance(condition, (sympy.And, sympy.Or)):
            operation = "and" if isinstance(condition, sympy.And) else "or"
            tests = [self.boolean(arg, active) for arg in condition.args]
            total = tests[0]
            for test in tests[1:]:
                total = self.graph.add(operation, total, test)
            return total
        if isinstance(condition, sympy.Not):
            return self.graph.add("not", self.boolean(condition.args[0], active))
        if condition.func not in RELATIONAL:
            raise UnsupportedHead(self.name, _head_name(condition))
        operation, swap = RELATIONAL[condition.func]
        left, right = (
            self._side(side, other, active) for side, other in (condition.args, condition.args[::-1])
        )
        return self.graph.add(operation, right, left) if swap else self.graph.add(operation, left, right)

    def _side(self, side: Expr, other: Expr, active: int | None) -> int:
        """One side of a relation; vᵀv compared with 0 is ‖v‖, which does not underflow."""
        if other == 0 and _is_square(side):
            return self.graph.add("norm", self.vector(side.left))
        return self.scalar(side, active)


def _is_square(expr: Expr) -> bool:
    return isinstance(expr, InnerProductSymbol) and expr.left == expr.right


def _is_angle(square: Expr, product: Expr, other: Expr) -> bool:
    """Whether three numbers are uᵀu, uᵀv and vᵀv."""
    return (
        _is_square(square)
        and _is_square(other)
        and isinstance(product, InnerProductSymbol)
        and {product.left, product.right} == {square.left, other.left}
    )


def _without_square(expr: Expr) -> tuple[Expr, Expr] | None:
    """vᵀv and the other factors of a product that has one of that kind."""
    factors = sympy.Mul.make_args(expr)
    squares = [factor for factor in factors if _is_square(factor)]
    return (squares[0], expr / squares[0]) if len(squares) == 1 else None


def _merged(factors: list[tuple[Expr, Expr]]) -> list[tuple[Expr, Expr]]:
    """The factors with one power of each vᵀv: of two, one could overflow where the other underflows."""
    powers: dict[Expr, Expr] = {}
    for base, exponent in factors:
        if _is_square(base):
            powers[base] = powers.get(base, sympy.S.Zero) + exponent
    return [pair for pair in factors if not _is_square(pair[0])] + list(powers.items())


def _lengths(below: list[tuple[Expr, Expr]]) -> tuple[Counter[Any], list[tuple[Expr, Expr]]]:
    """The powers of ‖v‖ below the line, from those of vᵀv, and the other factors there."""
    squares = [(base, e) for base, e in below if _is_square(base) and (2 * e).is_Integer]
    return Counter({base.left: int(2 * e) for base, e in squares}), [p for p in below if p not in squares]


def _paired_squares(factors: list[tuple[Expr, Expr]]) -> tuple[list[Any], list[Any], list[Expr]]:
    """Factors above and below the line, and the ratios u/v with (u/v)² for u²/v², which could overflow."""
    over = [(base, e) for base, e in factors if not (e.is_Rational and e.is_negative)]
    under = [(base, -e) for base, e in factors if e.is_Rational and e.is_negative]
    squares = [pair for pair in over if pair[1] == 2], [pair for pair in under if pair[1] == 2]
    ratios = []
    for above, below in zip(*squares, strict=False):
        over.remove(above)
        under.remove(below)
        ratios.append(above[0] / below[0])
    return over, under, ratios


def _head_name(expr: Any) -> str:
    return str(getattr(expr.func, "__name__", type(expr).__name__))
