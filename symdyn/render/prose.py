r"""Sentences with formulas in them, `the balance $\delta$ is conserved`, for LaTeX, KaTeX and HTML."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

from symdyn.render.layout import width
from symdyn.render.mathematics import admitted, is_formula, read_back, words_of
from symdyn.render.typed import formulas

UNICODE = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon", "ζ": r"\zeta",
    "η": r"\eta", "θ": r"\theta", "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu", "ξ": r"\xi",
    "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "υ": r"\upsilon", "φ": r"\phi", "χ": r"\chi",
    "ψ": r"\psi", "ω": r"\omega", "Γ": r"\Gamma", "Δ": r"\Delta", "Θ": r"\Theta", "Λ": r"\Lambda",
    "Σ": r"\Sigma", "Φ": r"\Phi", "Ψ": r"\Psi", "Ω": r"\Omega", "≤": r"\le", "≥": r"\ge", "≠": r"\ne",
    "≈": r"\approx", "→": r"\to", "∞": r"\infty", "√": r"\surd", "‖": r"\|", "±": r"\pm", "∓": r"\mp",
    "−": "-", "·": r"\cdot", "×": r"\times", "∈": r"\in", "≫": r"\gg", "≪": r"\ll", "∂": r"\partial",
    "∇": r"\nabla", "∝": r"\propto", "⇔": r"\Leftrightarrow", "⇒": r"\Rightarrow", "≡": r"\equiv",
    "½": r"\tfrac12", "⟂": r"\perp", "⊥": r"\perp",
    "ℝ": r"\mathbb R", "∑": r"\sum", "∫": r"\int", "⊗": r"\otimes", "⊕": r"\oplus", "⊆": r"\subseteq", "⪯": r"\preceq",
    "∀": r"\forall", "∃": r"\exists", "⋯": r"\cdots",
    "∘": r"\circ", "⊙": r"\odot", "≻": r"\succ", "⪰": r"\succeq", "∩": r"\cap", "∪": r"\cup", "ℓ": r"\ell",
    "⟨": r"\langle", "⟩": r"\rangle", "…": r"\ldots",
}  # fmt: skip

_RAISED = {
    "′": r"\prime ",
    "″": r"\prime\prime ",
    "⁰": "0",
    "¹": "1",
    "²": "2",
    "³": "3",
    "⁴": "4",
    "⁵": "5",
    "ⁿ": "n",
    "⁺": "+",
    "⁻": "-",
    "ᵀ": r"\top ",
    "⊤": r"\top ",
}
_LOWERED = {
    "₀": "0",
    "₁": "1",
    "₂": "2",
    "₃": "3",
    "₄": "4",
    "₊": "+",
    "ₐ": "a",
    "ᵢ": "i",
    "ₖ": "k",
    "ₙ": "n",
}

_ESCAPES = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "–": "--", "—": "---", "’": "'", "“": "``", "”": "''",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "$": r"\$",
}  # fmt: skip

_SYMBOL = re.compile("[" + "".join((*UNICODE, *_RAISED, *_LOWERED)) + "]+")
_PIECE = re.compile(f"([{''.join(_RAISED)}]+)|([{''.join(_LOWERED)}]+)|(.)")
_COMBINED = {"\u0307": r"\dot", "\u0302": r"\hat", "\u0304": r"\bar", "\u0303": r"\tilde"}
_ACCENT = re.compile("(.)([" + "".join(_COMBINED) + "])")
_PRECOMPOSED = {
    "Ṁ": r"\dot M",
    "ȧ": r"\dot a",
    "ẇ": r"\dot w",
    "ẋ": r"\dot x",
    "ẏ": r"\dot y",
    "Ẇ": r"\dot W",
    "ŵ": r"\hat w",
    "Ŷ": r"\hat Y",
    "Ż": r"\dot Z",
    "Ũ": r"\tilde U",
    "Ṽ": r"\tilde V",
}
_PHI = re.compile(r"\\varphi(?!_1|[A-Za-z])")
"""SymPy prints φ as \\phi; beside it another shape would look like another symbol. φ_1 is one."""
_ROOT = re.compile(r"√(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\)|([^\W\d_](?:_\w)?))")
_LETTER = re.compile("[" + "".join(_PRECOMPOSED) + "]")


def segments(text: str) -> Iterator[tuple[bool, str]]:
    r"""(is a formula, text) for each piece of a sentence: what stands in `$…$`, and what else is mathematics. What
    would be a formula and is none is shown as it was typed.
    """
    for formula, piece in formulas(text):
        shown = admitted(" ".join(in_mathematics(_DOLLAR.sub("", piece)).split())) if formula else piece
        yield formula, shown


def _command(character: str) -> str:
    return UNICODE.get(character, character)


def _commands(run: str) -> str:
    """A run of symbols as commands, a run of raised or lowered ones as one exponent or index."""
    pieces = []
    for raised, lowered, other in _PIECE.findall(run):
        if raised:
            pieces.append("^{" + "".join(map(_RAISED.__getitem__, raised)).strip() + "}")
        elif lowered:
            pieces.append("_{" + "".join(map(_LOWERED.__getitem__, lowered)) + "}")
        else:
            pieces.append(_command(other))
    return " ".join(pieces)


_DOLLAR = re.compile(r"(?<!\\)\$")


def in_mathematics(tex: str) -> str:
    r"""A formula with its Unicode symbols and accents replaced by commands, and one shape for φ and for roots; what is
    no formula, as words (`symdyn.render.mathematics.admitted`).
    """
    shown = _in_commands(tex)
    return shown if is_formula(shown) else admitted(tex)


def _in_commands(tex: str) -> str:
    tex = _ROOT.sub(r"\\sqrt{\1\2}", _PHI.sub(r"\\phi", tex))
    tex = _LETTER.sub(lambda m: f"{_PRECOMPOSED[m.group()]} ", tex)
    tex = _ACCENT.sub(lambda m: f"{_COMBINED[m.group(2)]}{{{_command(m.group(1))}}}", tex)
    return _SYMBOL.sub(lambda m: _commands(m.group()) + " ", tex)


_LINE_ENDS = re.compile(r"\n\s*\n\s*|[^\S \n]")


def escape(text: str) -> str:
    """Plain words for LaTeX's text mode, without the empty lines that would end a paragraph."""
    return "".join(_ESCAPES.get(c, c) for c in _LINE_ENDS.sub(" ", text))


def latex(text: str) -> str:
    """The sentence for a LaTeX paragraph."""
    return "".join(f"${piece}$" if formula else escape(piece) for formula, piece in segments(text))


def katex(text: str) -> str:
    r"""The sentence inside a formula: words in `\text{…}`, formulas between them, no dollar sign."""
    return _in_formula(list(segments(text)))


def katex_lines(text: str, line: int) -> list[str]:
    r"""The sentence inside a formula, broken between words into lines of about so many characters."""
    rows: list[list[tuple[bool, str]]] = [[]]
    length = 0
    for formula, piece in segments(text):
        for word in [piece] if formula else re.findall(r"\s*\S+\s*$|\s*\S+|\s+", piece):
            size = width(word) if formula else len(word)
            if length + size > line and rows[-1] and word[0].isspace():
                rows.append([])
                length, word = 0, word.lstrip()
            rows[-1].append((formula, word))
            length += size
    return [_in_formula(row) for row in rows]


def _in_formula(pieces: list[tuple[bool, str]]) -> str:
    grouped = (
        (formula, "".join(piece for _, piece in group))
        for formula, group in groupby(pieces, key=lambda p: p[0])
    )
    return " ".join(piece if formula else rf"\text{{{escape(piece)}}}" for formula, piece in grouped)


def html_text(text: str) -> str:
    """The sentence for HTML, with the formulas in MathML."""
    return "".join(mathml(piece) if formula else html.escape(piece) for formula, piece in segments(text))


def mathml(tex: str, block: bool = False) -> str:
    """MathML of a formula, which current browsers set by themselves; the LaTeX is its alternative text. What the
    converter does not know, or makes anything but MathML of, is shown as it was typed.
    """
    from latex2mathml.converter import convert

    words: list[str] = []

    def aside(match: re.Match[str]) -> str:
        words.append(read_back(match.group(1)))
        return f"\\text{{{_ASIDE}{len(words) - 1}{_ASIDE}}}"

    shown = admitted(tex)
    known = _TEXT.sub(aside, shown)
    for name, replacement in _ENVIRONMENTS.items():
        known = known.replace(f"{{{name}}}", f"{{{replacement}}}")
    try:
        markup = _VARIANT.sub(_styled, convert(known, display="block" if block else "inline"))
    except Exception:
        return _as_typed(tex)
    markup = _ALIGNED.sub(r'columnalign="\1" style="text-align: \1; padding: .3em 0"', markup)
    markup = _WORDS.sub(lambda match: f"<mtext>{_set_words(words[int(match.group(1))])}</mtext>", markup)
    if not _is_mathml(markup):
        return _as_typed(tex)
    return markup.replace("<math ", f'<math alttext="{html.escape(shown)}" ', 1)


def _set_words(words: str) -> str:
    return html.escape(words, quote=False).replace(" ", "&#x000A0;")


def _as_typed(tex: str) -> str:
    return f"<code>{html.escape(tex)}</code>"


def _is_mathml(markup: str) -> bool:
    """Whether a page takes it for MathML and nothing else: elements for formulas, attributes for their looks."""
    from xml.etree import ElementTree

    try:
        elements = list(ElementTree.fromstring(markup).iter())
    except ElementTree.ParseError:
        return False
    tags = {element.tag.rpartition("}")[2] for element in elements}
    return tags <= _ELEMENTS and all(_ATTRIBUTES.issuperset(element.attrib) for element in elements)


_TEXT = re.compile(r"\\text\{((?:[^{}\\]|\\.|\{\})*)\}")
_ASIDE = "\ue000"  # a character of private use, which is not admitted
_WORDS = re.compile(f"<mtext>{_ASIDE}([0-9]+){_ASIDE}</mtext>")
_ELEMENTS = words_of(
    """math mrow mi mn mo mtext mspace msup msub msubsup mover munder munderover mfrac msqrt mroot mtable mtr mtd mstyle
    mpadded menclose mphantom mmultiscripts mprescripts none"""
)
_ATTRIBUTES = words_of(
    """display mathvariant stretchy fence form largeop movablelimits minsize maxsize lspace rspace width height depth
    linethickness displaystyle scriptlevel columnalign rowspacing columnspacing accent accentunder separator symmetric
    columnlines rowlines notation style mathsize"""
)
_ENVIRONMENTS = {"aligned": "align*", "gathered": "matrix"}
"""What the converter calls them."""
_ALIGNED = re.compile('columnalign="(left|right)"')
_VARIANT = re.compile(r'<mi mathvariant="(double-struck|bold|script)">(\w)</mi>')
_STYLES = {"double-struck": "DOUBLE-STRUCK", "bold": "BOLD", "script": "SCRIPT"}


def _styled(match: re.Match[str]) -> str:
    """A letter in another style as the character of that style: browsers ignore the attribute."""
    style, letter = match.groups()
    size = "CAPITAL" if letter.isupper() else "SMALL"
    for name in (f"MATHEMATICAL {_STYLES[style]} {size}", f"{_STYLES[style]} {size}"):
        try:
            return f"<mi>{unicodedata.lookup(f'{name} {letter.upper()}')}</mi>"
        except KeyError:  # ℝ, ℒ and a few more are older than their alphabets and named differently
            continue
    return match.group()


_ASCII = {
    "||": "‖", "+/-": "±", "!=": "≠", ">=": "≥", "<=": "≤", "<<": "≪", ">>": "≫", "->": "→", "+-": "±", "^T": "ᵀ",
}  # fmt: skip
_GREEK = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "eta",
    "theta",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "phi",
    "psi",
    "omega",
    "upsilon",
    "tau",
    "rho",
    "sigma",
    "epsilon",
    "xi",
    "chi",
    "Gamma",
    "Delta",
    "Theta",
    "Lambda",
    "Sigma",
    "Phi",
    "Psi",
)
_MATHEMATICAL = {*_GREEK, "inf", "infinity", "star", "exp", "log", "max", "min", "sin", "cos", "sqrt", "det"}
_WORD = re.compile(r"(?=.{3})([a-z]{2,})\d*")
_APART = re.compile(r"(\$[^$]*\$|\b[a-z]\w*(?:-\w+)+)")
_POWER_OF_TEN = re.compile(r"(\d\.?)e\+?(-?\d+)\b")
_NAME = re.compile(rf"\b({'|'.join(_GREEK)})(?:_?(star|\d+)|_(\w|\*))?(?![A-Za-z_])")


def from_ascii(text: str) -> str:
    """A sentence in which formulas were typed in ASCII (`delta << 0`), with proper symbols. What stands in `$…$` is
    typeset already and stays as it is, and so do names with words in them (`grows-with-delta`, but not `delta-a_0`).
    """
    return "".join(piece if _stays(piece) else _from_ascii(piece) for piece in _APART.split(text))


def _stays(piece: str) -> bool:
    """Whether it is typeset already, or words joined by hyphens."""
    words = (_WORD.fullmatch(word) for word in piece.split("-")) if _APART.fullmatch(piece) else ()
    named = any(word is not None and word.group(1) not in _MATHEMATICAL for word in words)
    return named or piece.startswith("$")


def _from_ascii(text: str) -> str:
    for typed, symbol in _ASCII.items():
        text = text.replace(typed, symbol)
    text = _POWER_OF_TEN.sub(r"\1·10^{\2}", re.sub(r"\binf(inity)?\b", "∞", text))
    return _NAME.sub(_greek, text)


def _greek(match: re.Match[str]) -> str:
    index = (match.group(2) or match.group(3) or "").replace("star", "*")
    return rf"$\{match.group(1)}_{{{index}}}$" if index else rf"$\{match.group(1)}$"
