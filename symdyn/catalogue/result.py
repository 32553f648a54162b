"""A result: one statement of a paper, or one of our own, that is derived, verified, printed and compiled.

    @result(ledger=("kunin2024.single-conserved-delta",))
    def conserved_delta():
        "The conserved quantity."
        return Conservation(eta_w * a**2 - eta_a * inner(w, w), under=flow)

The decorated function returns its statement and is called once, when the statement is first needed. What the
decorator is told (ledger ids, domain, what the result stands on) is checked at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy as sp

from symdyn.calculus.vectors import Dot
from symdyn.catalogue.citation import cite
from symdyn.catalogue.packages import topic_of
from symdyn.catalogue.paper import Entry, Paper, entry
from symdyn.catalogue.registry import PRINTED, REGISTERED, index, load, nearest
from symdyn.catalogue.restrictions import declared, refuse_added, refuse_silent
from symdyn.proof.verdict import GRADES, Verdict, Witness
from symdyn.statements.domain import Domain
from symdyn.statements.hypothesis import Hypothesis, checked
from symdyn.statements.kinds import Statement, vocabulary_of
from symdyn.statements.notation import GLOSSARIES, Term, vocabulary

if TYPE_CHECKING:
    from symdyn.render.steps import Step

SEVERITIES = ("typo", "convention", "scope", "substantive")
STATEMENT_NEEDED = "a derivation returns the statement it derives"


class _Signature:
    """The signature of the compiled function of a result, for `inspect.signature` and editors.

    The class has its own, and a result that cannot be compiled that of any call, which then says why.
    """

    def __get__(self, result: Result | None, owner: type) -> Any:
        if result is None:
            raise AttributeError("__signature__")
        try:
            return result.compiled.__signature__
        except (TypeError, ValueError, NotImplementedError) as obstacle:
            raise AttributeError(f"no signature: {obstacle}") from obstacle


class Result:
    """A derived, verified, printable and, where it states a function, callable result."""

    __signature__ = _Signature()

    def __init__(
        self,
        function: Callable[[], Statement],
        *,
        ledger: tuple[str, ...] = (),
        domain: Domain | None = None,
        uses: tuple[str, ...] = (),
        arguments: tuple[str, ...] | None = None,
        few_mutants: str = "",
        requires: tuple[tuple[str, Any, str], ...] = (),
        topic: str | None = None,
        hypotheses: tuple[Hypothesis, ...] = (),
    ) -> None:
        self.function = function
        self.module = function.__module__
        self.name = function.__name__
        self.topic = topic or topic_of(self.module)
        self.ledger = tuple(ledger)
        self.domain = domain
        self.uses = tuple(uses)
        self.argument_names = arguments
        self.few_mutants = few_mutants
        self.requires = requires
        self.hypotheses = checked(hypotheses)
        self.__doc__ = inspect.getdoc(function)
        if not self.__doc__:
            raise ValueError(f"{self.key}: say in a docstring what the result is")
        for ledger_id in self.ledger:
            entry(ledger_id)

    @property
    def key(self) -> str:
        """Topic and name, which is also the import path below `derivations`."""
        return f"{self.topic}.{self.name}"

    @property
    def title(self) -> str:
        return (self.__doc__ or self.name).splitlines()[0].rstrip(".")

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry(ledger_id) for ledger_id in self.ledger)

    @property
    def papers(self) -> tuple[Paper, ...]:
        return tuple(dict.fromkeys(e.paper for e in self.entries))

    @cached_property
    def statement(self) -> Statement:
        with vocabulary(self.topic):  # formulas in words are typeset when the statement is made
            statement = self.function()
        if not isinstance(statement, Statement):
            raise TypeError(f"{self.key}: {STATEMENT_NEEDED}, not {type(statement).__name__}")
        self._check_vocabulary(statement)
        return statement

    def _check_vocabulary(self, statement: Statement) -> None:
        from symdyn.proof.claim import atoms, components

        glossary = GLOSSARIES.get(self.topic)
        for x in statement.expressions:
            for number in {n for c in components(x) for n in c.atoms(sp.Float)}:
                raise ValueError(f"{self.key}: {number} is a floating-point number; write it as a Rational")
            foreign = {a for a in atoms(x) if not isinstance(a, (Dot, sp.Dummy))} - set(
                glossary.terms if glossary else ()
            )
            if glossary is not None and foreign:
                names = ", ".join(sorted(map(str, foreign)))
                raise ValueError(f"{self.key}: '{names}' is not in the glossary of topic '{self.topic}'")

    @property
    def value(self) -> Any:
        """What the result compiles to: a scalar, vector, operator or None, as in a topic that compiles nothing."""
        glossary = GLOSSARIES.get(self.topic)
        return self.statement.value if glossary is None or glossary.compiles else None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the ledger states and what the domain adds."""
        stated = [a for e in self.entries for a in e.assumptions]
        words = [self.domain.words] if self.domain is not None and self.domain.words else []
        return tuple(dict.fromkeys(stated + words))

    @property
    def supposes(self) -> tuple[Hypothesis, ...]:
        """Every condition under which the result is claimed, with where it comes from."""
        return declared(self)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The derivation, line by line."""
        from symdyn.render.steps import result_steps

        return result_steps(self)

    def latex(self) -> str:
        """The statement in LaTeX, without delimiters."""
        from symdyn.render.latex import result_latex

        return result_latex(self)

    def bibtex(self) -> str:
        """BibTeX of the papers the result comes from, with the places in them."""
        return cite(self)

    def verify(self) -> Verdict:
        """Decide the statement, refute its mutants, and stand no higher than what it is built on."""
        from symdyn.proof.standing import standing

        def known(key: str) -> Result:
            return self if key == self.key else load(key)

        return standing(self.key, lambda key: known(key).verify_alone(), lambda key: known(key).uses)

    def verify_alone(self) -> Verdict:
        """The verdict on the statement and its mutants, without what the result stands on."""
        from symdyn.proof.check import verify

        self.check_declared()
        refuse_silent(self)
        if not hasattr(self, "_alone"):
            self._alone = verify(self.statement, self.domain, self.few_mutants)
        return self._alone

    def check_declared(self) -> None:
        """Raise TypeError or ValueError where the decorator was told what it cannot use, and say what to write."""
        if not isinstance(self.domain, Domain | None):
            raise TypeError(f"{self.key}: domain=… takes a Domain, not {self.domain!r}")
        if not isinstance(self.few_mutants, str):
            raise TypeError(f"{self.key}: few_mutants=… takes a reason in words, not {self.few_mutants!r}")
        known = {e.key for e in index()} if self.uses else set()
        if "".join(map(str, self.uses)) in known - set(self.uses) or not all(
            isinstance(key, str) for key in self.uses
        ):
            raise TypeError(
                f"{self.key}: uses=… takes a tuple of keys of results, as in ('{self.topic}.name',)"
            )
        for key in self.uses:
            if key not in known:
                raise ValueError(f"{self.key} stands on '{key}', which is no result{nearest(key, known)}")

    @cached_property
    def arguments(self) -> tuple[Term, ...]:
        """The arguments of the compiled function, in order, with their meaning and default."""
        if self.value is None:
            raise TypeError(f"{self.key} states no function: there is nothing to compile")
        if self.topic not in GLOSSARIES:
            raise TypeError(
                f"{self.key} cannot be compiled: arguments are named by a glossary of the topic, and none is declared "
                f'with symdyn.glossary("{self.topic}")'
            )
        glossary = GLOSSARIES[self.topic]
        present = vocabulary_of(self.value)
        terms = [term for term in glossary if term.symbol in present]
        if self.argument_names is not None:
            known = {term.name: term for term in glossary}
            terms = [known[name] for name in self.argument_names]
            missing = present - {term.symbol for term in terms}
            if missing:
                raise ValueError(
                    f"{self.key}: {sorted(map(str, missing))} occur in the value but are no arguments"
                )
        return tuple(terms)

    @cached_property
    def compiled(self) -> Any:
        """The callable for all backends."""
        from symdyn.compile.function import build
        from symdyn.compile.words import CompiledWords, ingredients

        if self.value is None:
            raise TypeError(f"{self.key} states no function: there is nothing to compile")
        if ingredients(self.value) is not None:
            return CompiledWords(self.value, self.arguments, self.key, domain=self._conditions())
        return build(self.value, self.arguments, name=self.key, domain=self._conditions())

    def _conditions(self) -> tuple[tuple[str, Any, str], ...]:
        """What the arguments must satisfy: what the glossary says of them, and what the result requires."""
        positive = (("positive", term.symbol > 0, term.name) for term in self.arguments if term.positive)
        return (*positive, *self.requires)

    @property
    def numpy(self) -> Any:
        return self.compiled.numpy

    @property
    def torch(self) -> Any:
        return self.compiled.torch

    @property
    def mpmath(self) -> Any:
        return self.compiled.mpmath

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.compiled(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Result {self.key}: {self.title}>"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def _repr_html_(self) -> str:
        from symdyn.render.notebook import result_html

        return result_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self.key,)


@dataclass(frozen=True, eq=False)
class PrintedForm:
    """A formula as the paper prints it, to be held against the true form.

    `domain` is where the paper claims it. If it is refuted there, it is conditional when a `hypothesis` is
    given and the form holds on the domain `under` that adds it, and otherwise an erratum with its `severity`.
    `quote` is a fragment of the ledger's transcription that the form was written from; `hypotheses` say where the
    domain comes from, in which nothing is added: `hypothesis` and `under` do that.
    """

    function: Callable[[], Statement]
    ledger_id: str
    quote: str
    domain: Domain | None = None
    hypothesis: str = ""
    under: Domain | None = None
    severity: str = ""
    hypotheses: tuple[Hypothesis, ...] = ()

    @property
    def key(self) -> str:
        return f"{topic_of(self.function.__module__)}.{self.function.__name__}"

    @property
    def entry(self) -> Entry:
        return entry(self.ledger_id)

    @property
    def ledger(self) -> tuple[str, ...]:
        return (self.ledger_id,)

    @property
    def module(self) -> str:
        return self.function.__module__

    @property
    def requires(self) -> tuple[()]:
        """Nothing: a printed form compiles to no function."""
        return ()

    @cached_property
    def statement(self) -> Statement:
        with vocabulary(topic_of(self.function.__module__)):
            statement = self.function()
        if not isinstance(statement, Statement):
            raise TypeError(f"{self.key}: a printed form returns a statement, not {type(statement).__name__}")
        return statement

    def verify(self) -> PrintedVerdict:
        """Whether the printed form holds as claimed, under its hypothesis, or not at all."""
        from symdyn.proof.check import decide, verify

        refuse_silent(self)
        refuse_added(self)
        stated = decide(self.statement, self.domain)
        if stated.holds is not False or self.under is None:
            return PrintedVerdict(self.key, stated)
        return PrintedVerdict(
            self.key, stated, verify(self.statement, self.under, few_mutants="see the result")
        )


@dataclass(frozen=True)
class PrintedVerdict:
    """The verdict on a printed form as claimed, and under its hypothesis where one was needed."""

    key: str
    stated: Verdict
    under: Verdict | None = None

    @property
    def status(self) -> str:
        if self.stated.stands:
            return "holds"
        if self.stated.holds is None:
            return "open"
        if self.under is None:
            return "erratum"
        return "conditional" if self.under.stands else "open"

    @property
    def witness(self) -> Witness | None:
        return self.stated.witness


def result(**options: Any) -> Callable[[Callable[[], Statement]], Result]:
    """Register the decorated derivation as a result; see `Result` for the options."""

    def register(function: Callable[[], Statement]) -> Result:
        made = Result(function, **options)
        _refuse_another(REGISTERED.get(made.key), made)
        REGISTERED[made.key] = made
        return made

    return register


def printed(
    ledger_id: str, *, quote: str, **options: Any
) -> Callable[[Callable[[], Statement]], PrintedForm]:
    """Register the decorated function as the form in which the paper prints a formula."""
    found = entry(ledger_id)
    severity = options.get("severity", "")
    if severity and severity not in SEVERITIES:
        raise ValueError(f"severity '{severity}' of {ledger_id} is not one of {', '.join(SEVERITIES)}")
    if bool(options.get("hypothesis")) != ("under" in options):
        raise ValueError(
            f"{ledger_id}: a hypothesis in words and the domain `under` that adds it go together"
        )
    if _squeeze(quote) not in _squeeze(found.statement):
        raise ValueError(f"{ledger_id}: the quote is not part of the ledger's transcription")

    hypotheses = checked(options.pop("hypotheses", ()))

    def register(function: Callable[[], Statement]) -> PrintedForm:
        form = PrintedForm(function, ledger_id, quote, hypotheses=hypotheses, **options)
        _refuse_another(PRINTED.get(form.key), form)
        PRINTED[form.key] = form
        return form

    return register


def _refuse_another(old: Result | PrintedForm | None, made: Result | PrintedForm) -> None:
    """A module that is loaded again may define its own anew; nothing takes the key of what another module defines."""
    if old is not None and old.function.__module__ != made.function.__module__:
        raise ValueError(
            f"{made.key} is defined twice: in {old.function.__module__} and in {made.function.__module__}"
        )


def _squeeze(text: str) -> str:
    return "".join(text.split())


__all__ = [
    "GRADES",
    "PrintedForm",
    "PrintedVerdict",
    "Result",
    "printed",
    "result",
]
