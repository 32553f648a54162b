r"""Which LaTeX is mathematics, and nothing else: what stands in a title or a claim of anybody's package goes into a
page and through a typesetter that would run or load whatever it is told to.

A formula is admitted if it is made of commands that KaTeX's strict mode and amsmath both know as mathematics, each with
its arguments, of balanced groups and fences, and of characters that are printed as they are. Macros, files, links,
attributes, comments and characters by their codes are none of these. What is not admitted is shown as it was typed,
letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable


def words_of(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


ORDINARY = words_of(
    r"""
    \alpha \beta \gamma \delta \epsilon \varepsilon \zeta \eta \theta \vartheta \iota \kappa \varkappa \lambda \mu \nu
    \xi \pi \varpi \rho \varrho \sigma \varsigma \tau \upsilon \phi \varphi \chi \psi \omega \digamma
    \Gamma \Delta \Theta \Lambda \Xi \Pi \Sigma \Upsilon \Phi \Psi \Omega
    \aleph \beth \gimel \hbar \hslash \imath \jmath \ell \wp \Re \Im \partial \infty \prime \emptyset \varnothing \nabla
    \surd \top \bot \angle \triangle \forall \exists \nexists \neg \lnot \flat \natural \sharp \square \blacksquare
    \bigstar \complement \diamondsuit \heartsuit \clubsuit \spadesuit \dots \ldots \cdots \vdots \ddots \dotsc \dotsb
    \pm \mp \times \div \ast \star \circ \bullet \cdot \cap \cup \uplus \sqcap \sqcup \vee \lor \wedge \land \setminus
    \wr \diamond \bigtriangleup \bigtriangledown \triangleleft \triangleright \oplus \ominus \otimes \oslash \odot
    \bigcirc \dagger \ddagger \amalg \ltimes \rtimes \boxplus \boxminus \boxtimes \boxdot \backslash
    \le \leq \ge \geq \ne \neq \ll \gg \lll \ggg \prec \succ \preceq \succeq \sim \simeq \approx \approxeq \cong \equiv
    \asymp \doteq \propto \varpropto \models \perp \mid \nmid \parallel \nparallel \bowtie \smile \frown \vdash \dashv
    \in \notin \ni \subset \supset \subseteq \supseteq \subsetneq \supsetneq \sqsubseteq \sqsupseteq \leqslant
    \geqslant \lesssim \gtrsim \triangleq \therefore \because
    \to \gets \leftarrow \rightarrow \leftrightarrow \Leftarrow \Rightarrow \Leftrightarrow \longleftarrow
    \longrightarrow \longleftrightarrow \Longleftarrow \Longrightarrow \Longleftrightarrow \mapsto \longmapsto \iff
    \implies \impliedby \uparrow \downarrow \updownarrow \Uparrow \Downarrow \Updownarrow \nearrow \searrow \swarrow
    \nwarrow \hookrightarrow \hookleftarrow \rightharpoonup \leftharpoonup \rightleftharpoons \rightsquigarrow
    \langle \rangle \lfloor \rfloor \lceil \rceil \lvert \rvert \lVert \rVert \vert \Vert \| \{ \}
    \_ \& \% \# \$
    """
)
"""Commands that stand for a character, by themselves and as an argument."""
OPERATORS = words_of(
    r"""
    \sum \prod \coprod \int \iint \iiint \oint \bigcap \bigcup \bigsqcup \bigvee \bigwedge \bigodot \bigotimes
    \bigoplus \biguplus
    \arccos \arcsin \arctan \arg \cos \cosh \cot \coth \csc \deg \det \dim \exp \gcd \hom \inf \ker \lg \lim \liminf
    \limsup \ln \log \max \min \Pr \sec \sin \sinh \sup \tan \tanh \bmod
    """
)
SPACES = words_of(r"\quad \qquad \, \; \: \! \> \displaystyle \textstyle \scriptstyle") | {"\\ "}
SYMBOLS = ORDINARY | OPERATORS | SPACES
ONE = words_of(
    r"""
    \hat \bar \dot \ddot \dddot \tilde \vec \check \acute \grave \breve \mathring \widehat \widetilde \overline
    \underline \overrightarrow \overleftarrow \overbrace \underbrace \mathrm \mathbf \mathbb \mathcal \mathfrak \mathsf
    \mathtt \mathit \mathnormal \boldsymbol \operatorname \mathbin \mathrel \mathop \mathord \mathopen \mathclose
    \mathpunct \mathinner \pmod
    """
)
"""Commands of one argument."""
TWO = words_of(r"\frac \tfrac \dfrac \binom \tbinom \dbinom \stackrel \overset \underset")
"""Commands of two arguments."""
WORDS = words_of(r"\text \textrm \textbf \textit \textsf \texttt")
"""Commands whose argument is words."""
FENCES = words_of(r"( ) [ ] | . / < >") | words_of(
    r"\{ \} \| \langle \rangle \lfloor \rfloor \lceil \rceil \lvert \rvert \lVert \rVert \vert \Vert"
)
SIZED = frozenset(
    rf"\{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m")
)
"""Commands that enlarge the fence after them."""
ENVIRONMENTS = words_of("aligned gathered matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix cases")
IN_WORDS = words_of(
    r"\textbackslash \textasciitilde \textasciicircum \textless \textgreater \textbar \_ \& \% \# \$ \{ \}"
)
NESTED = 40
"""Deeper groups are no formula that anybody reads."""

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-=<>/*()[]|,.;:!?")
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ue000-\uf8ff\ufeff\ufff9-\uffff\ud800-\udfff]"
)
ESCAPES = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "$": r"\$",
}  # fmt: skip
_ESCAPED = re.compile(r"\\(text[a-z]+)(?:\{\}|\s*)|\\([^A-Za-z])|\{\}")
_TYPED = {escaped[1:-2]: typed for typed, escaped in ESCAPES.items() if escaped.endswith("{}")}


def admitted(tex: str) -> str:
    r"""The formula if it is one and nothing else, and otherwise what was typed: `\text{\textbackslash{}input…}`."""
    return tex if is_formula(tex) else rf"\text{{{typed(tex)}}}"


def typed(text: str) -> str:
    """Any text as the argument of a command of words, letter by letter."""
    shown = _UNPRINTABLE.sub(lambda found: f"[U+{ord(found.group()):04X}]", " ".join(text.split()))
    return "".join(ESCAPES.get(character, character) for character in shown)


def read_back(words: str) -> str:
    """The text that an argument of a command of words shows."""
    return _ESCAPED.sub(lambda found: _TYPED.get(found[1] or "", found[2] or ""), words)


def is_formula(tex: str) -> bool:
    """Whether it is mathematics and nothing else, whole in itself."""
    reader = _Reader(_TOKEN.findall(tex))
    try:
        reader.formula(lambda token: False)
    except _NotAFormula:
        return False
    return reader.place == len(reader.tokens)


class _NotAFormula(Exception):
    pass


class _Reader:
    """Reads a formula token by token. Raises _NotAFormula at the first that does not belong there."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.place, self.depth = tokens, 0, 0

    def next(self, *, spaces: bool = False) -> str:
        """The next token, "" at the end."""
        if not spaces:
            while self.place < len(self.tokens) and self.tokens[self.place].isspace():
                if (
                    self.tokens[self.place].count("\n") > 1
                ):  # an empty line ends a paragraph, and a formula with it
                    raise _NotAFormula
                self.place += 1
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        """The next token, which has to be one of some."""
        token = self.next()
        if not token or (wanted and token not in wanted):
            raise _NotAFormula
        self.place += 1
        return token

    def formula(self, ends: Callable[[str], bool]) -> None:
        """Atoms with their scripts, up to a token that ends them, which is left, or the end of the text."""
        self.depth += 1
        if self.depth > NESTED:
            raise _NotAFormula
        scripts: set[str] = set()
        while (token := self.next()) and not ends(token):
            if token in ("^", "_", "'"):
                self.place += 1
                if token in scripts - {"'"} or (token == "'" and "^" in scripts):
                    raise _NotAFormula
                scripts.add(token)
                if token != "'":
                    self.argument()
            else:
                scripts = set()
                self.atom()
        self.depth -= 1

    def group(self) -> None:
        self.take("{")
        self.formula(lambda token: token == "}")
        self.take("}")

    def argument(self) -> None:
        """What a command or a script takes: a group, a character or a symbol."""
        token = self.next()
        if token == "{":
            self.group()
        elif token in _PLAIN or token in ORDINARY:
            self.place += 1
        else:
            raise _NotAFormula

    def atom(self) -> None:
        token = self.next()
        if token == "{":
            self.group()
            return
        self.take()
        if token in ONE or token in TWO:
            if token == r"\operatorname" and self.next() == "*":
                self.take("*")
            for _ in range(2 if token in TWO else 1):
                self.argument()
        elif token in WORDS:
            self.words()
        elif token == r"\sqrt":
            if self.next() == "[":
                self.take("[")
                self.formula(lambda token: token == "]")
                self.take("]")
            self.argument()
        elif token == r"\left":
            self.take(*FENCES)
            self.formula(lambda token: token == r"\right")
            self.take(r"\right")
            self.take(*FENCES)
        elif token in SIZED:
            self.take(*FENCES - {"."})
        elif token == r"\not":
            self.take("=", "<", ">", r"\in", r"\equiv", r"\subset", r"\sim", r"\to", r"\perp", r"\propto")
        elif token == r"\begin":
            self.environment()
        elif token not in _PLAIN and token not in SYMBOLS and token != "~":
            raise _NotAFormula

    def environment(self) -> None:
        name = self.name()
        if name not in ENVIRONMENTS:
            raise _NotAFormula
        ends = {"&", r"\\", r"\end"}
        while True:
            self.formula(ends.__contains__)
            end = self.take(*ends)
            if end == r"\end":
                break
            if end == r"\\" and self.next(spaces=name in ("aligned", "gathered")) in ("[", "*"):
                raise _NotAFormula  # they would be taken for its arguments
        if self.name() != name:
            raise _NotAFormula

    def name(self) -> str:
        self.take("{")
        letters = []
        while self.next(spaces=True).isalpha():
            letters.append(self.take())
        self.take("}")
        return "".join(letters)

    def words(self) -> None:
        """Words in braces: any character that is printed as it is, and escaped ones."""
        self.take("{")
        depth = 1
        while depth:
            token = self.next(spaces=True)
            depth += {"{": 1, "}": -1}.get(token, 0)
            if (
                not token
                or token in "$&#^_%"
                or (token[0] == "\\" and token not in IN_WORDS and token != "\\ ")
            ):
                raise _NotAFormula
            if depth > NESTED or (
                _UNPRINTABLE.search(token) and (token.count("\n") != 1 or not token.isspace())
            ):
                raise _NotAFormula
            self.place += 1
