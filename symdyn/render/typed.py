r"""Finding the mathematics in a sentence: "g = ‖β‖^{-L/(L+1)} with W_1ᵀW_1 of rank one" has two formulas.

A sentence is cut into words, letters, numbers, signs and brackets. What can only be mathematics (a symbol, a
command, an index, a lone letter) starts a formula, which grows over signs, numbers and balanced brackets to the
next such piece, and never over a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTIONS = _words(
    "log ln exp tanh artanh sinh cosh sin cos tan sgn max min det vec tr rank diag Diag argmin sup inf lim"
)
_GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_PLACE = r"(?:Figs?|Figure|Sec|Eqs?|App)\.?\ (?:\([^()\s]*\)|[\dA-Z][\w.]*(?:\([a-z]\))?)"
_LABEL = r"\([\w/]+(?:-[\w/]+){2,}\)"
_INDEX = rf"{_GROUP}|infty\b|\\[A-Za-z]+|[a-z]{{2}}(?![A-Za-z_^])|[A-Za-z]|\d+|\([^()\s]*\)|[^\s(){{}}\[\]\\^_$,;.]"
_TOKEN = re.compile(
    rf"""(?P<formula>\$[^$]*\$)
    |(?P<text>\b(?:i\.e\.|e\.g\.|i\.i\.d\.|w\.r\.t\.|[A-Z]\.\d[\d.]*|{_PLACE})|{_LABEL}
       |\b\d+[a-z]?\([a-z]\)|[A-Za-z]*\.[A-Za-z]+\.[\w.]*|\b[A-Za-z]\d+\b(?![(^_]))
    |(?P<script>[_^](?:{_INDEX}))
    |(?P<command>\\[A-Za-z]+(?:{_GROUP})*|\\[^A-Za-z])
    |(?P<word>[A-Za-zÀ-ÿ]{{2,}}(?:'[a-z]+)?(?:_[A-Za-z]{{2,}})*)
    |(?P<letter>[A-Za-z])
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<sign>[-+=<>/*≤≥≠≈→≪≫∈∝⇔⇒≡×·±∓−⊗⊕⪰⪯≻∘⊙∩∪⊆])
    |(?P<open>[(\[{{])
    |(?P<close>[)\]}}])
    |(?P<space>\s+)
    |(?P<mark>[,;:.!?'"’“”–—&%\#@~`_^\\$])
    |(?P<symbol>.)""",
    re.VERBOSE,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_CERTAIN = ("formula", "command", "symbol")
_INDEXED = ("letter", "word", "symbol", "command", "close", "script", "formula", "mark", "number")
_ARTICLES = ("a", "A")
_AFTER_A_NOUN = _words(
    """and or the is are may does do has can cannot must to from in at by for of as with on where when never that which
    whose along into through over under between lie lies passes driven ends vanishes changes crosses tends"""
)
"""Words that do not follow an article: before them `a` is the letter."""
_ACTING = _words("log ln exp tanh artanh sinh cosh det tr sgn vec")


@dataclass
class Piece:
    """A piece of a sentence: what it is, and whether it is mathematics (None while that is open)."""

    kind: str
    text: str
    formal: bool | None = None

    @property
    def tex(self) -> str:
        if self.kind == "formula":
            return self.text[1:-1]
        if self.kind == "word" and self.text in FUNCTIONS:
            return rf"\operatorname{{{self.text}}}"
        if self.kind == "script" and len(self.text) > 2 and (self.text[1].isalnum() or self.text[1] == "("):
            index = self.text[1:].replace("infty", r"\infty")
            return f"{self.text[0]}{{{index}}}"
        if self.text == r"\'":
            return "'"
        return "\\" + self.text if self.kind in ("open", "close") and self.text in "{}" else self.text


def formulas(sentence: str) -> Iterator[tuple[bool, str]]:
    """(is a formula, text) for each part of a sentence, with spaces kept."""
    pieces = [Piece(m.lastgroup or "symbol", m.group()) for m in _TOKEN.finditer(sentence)]
    _group(pieces)
    _decide(pieces)
    _join(pieces)
    start = 0
    while start < len(pieces):
        formal = bool(pieces[start].formal)
        end = start
        while end < len(pieces) and bool(pieces[end].formal) == formal:
            end += 1
        run = pieces[start:end]
        yield formal, "".join(p.tex if formal else p.text for p in run)
        start = end


def _group(pieces: list[Piece]) -> None:
    r"""Braces that touch what stands before them are those of TeX (\frac1{D}), not of a set."""
    for i, piece in enumerate(pieces):
        before = _at(pieces, i - 1)
        if before.kind == "space" and _at(pieces, i - 2).kind == "command":
            before = pieces[i - 2]
        if piece.text == "{" and before.kind in ("number", "letter", "command", "script"):
            end = _closing(pieces, i)
            for j in (i, end) if end is not None else ():
                pieces[j].kind = "command"


def _decide(pieces: list[Piece]) -> None:
    """What is mathematics by itself or by its neighbours."""
    for i, piece in enumerate(pieces):
        before, after = _at(pieces, i - 1), _at(pieces, i + 1)
        match piece.kind:
            case "script":
                piece.formal = before.kind in _INDEXED and piece.text[0] != before.text[:1]
            case kind if kind in _CERTAIN:
                piece.formal = True
            case "letter":
                piece.formal = piece.text not in _ARTICLES or not _is_article(pieces, i)
            case "word":
                piece.formal = _is_product(pieces, i) or _is_function(pieces, i)
            case "mark":
                prime = piece.text == "'" and after.kind not in ("letter", "word")
                piece.formal = (
                    True if prime and before.kind in ("letter", "close", "script", "symbol") else None
                )
            case "text":
                piece.formal = False


def _is_product(pieces: list[Piece], i: int) -> bool:
    """Whether a short word is a product of letters: QQᵀ, vec(ABC), = FZ, 1/DE, \\frac ND."""
    word, before, after = pieces[i].text, _at(pieces, i - 1), _at(pieces, i + 1)
    earlier = _at(pieces, i - 2)
    if len(word) <= 3 and (after.kind == "script" or _raised(after)):
        return True
    if word.isupper() and before.text == "(" and after.text == ")" and earlier.text in FUNCTIONS:
        return True
    if len(word) > 2 or before.kind in ("letter", "word"):
        return False
    touching = before.kind in ("number", "script", "command") and word.isupper()
    return touching or (
        before.text == " " and (earlier.kind == "command" or (earlier.kind == "sign" and word.isupper()))
    )


def _at(pieces: list[Piece], i: int) -> Piece:
    return pieces[i] if 0 <= i < len(pieces) else Piece("end", "")


def _raised(piece: Piece) -> bool:
    return piece.kind == "symbol" and piece.text in "ᵀ⊤⁺⁻⁰¹²³⁴⁵ⁿ\u0303\u0302\u0304\u0307"


def _is_function(pieces: list[Piece], i: int) -> bool:
    """Whether a function stands before its argument: min(d, c), tanh Y, log x."""
    after, then = _at(pieces, i + 1), _at(pieces, i + 2)
    argument = then.kind in ("symbol", "command") or (then.kind == "letter" and then.text not in _ARTICLES)
    applied = pieces[i].text in FUNCTIONS and after.text == "("
    return applied or (pieces[i].text in _ACTING and after.text == " " and argument)


def _is_article(pieces: list[Piece], i: int) -> bool:
    """A lone `a` is an article before a space and a word that can follow one, but not behind a sign."""
    before, after, then = _at(pieces, i - 1), _at(pieces, i + 1), _at(pieces, i + 2)
    earlier = next((p for p in reversed(pieces[:i]) if p.kind != "space"), Piece("end", ""))
    if (
        after.kind != "space"
        or then.kind == "sign"
        or earlier.kind == "sign"
        or before.kind not in ("space", "end")
    ):
        return False
    factor = then.kind == "letter" and (_at(pieces, i + 3).kind == "script" or _raised(_at(pieces, i + 3)))
    equation = then.kind == "letter" and _at(pieces, i + 4).text == "="
    return not factor and not equation and then.text not in _AFTER_A_NOUN


def _join(pieces: list[Piece]) -> None:
    """Formulas grow over what joins them: signs, numbers, balanced brackets, a space between factors."""
    changed = True
    while changed:
        changed = _bracket(pieces)
        for i in range(len(pieces)):
            if pieces[i].formal:
                changed = _grow(pieces, i, 1) or _grow(pieces, i, -1) or changed
    for i, piece in enumerate(pieces):
        if piece.text in ("-", "−", "±", "∓", "+") and _at(pieces, i - 1).kind in ("space", "end", "open"):
            piece.formal = piece.formal or _at(pieces, i + 1).formal
        if piece.kind == "sign" and piece.text not in "-+=/*":
            piece.formal = True  # text fonts have other glyphs in its place, or none


def _bracket(pieces: list[Piece]) -> bool:
    """Brackets without words that touch a formula, or hold one and meet a sign, belong to it."""
    changed = False
    for i, piece in enumerate(pieces):
        if piece.kind != "open" or piece.formal:
            continue
        end = _closing(pieces, i)
        if end is None:
            continue
        inside = pieces[i + 1 : end]
        if any(p.formal is False for p in inside):
            continue
        touching = _at(pieces, i - 1).formal or (
            _at(pieces, end + 1).formal and any(p.formal for p in inside)
        )
        meeting = any(p.formal for p in inside) and (_sign_near(pieces, i, -1) or _sign_near(pieces, end, 1))
        if touching or meeting:
            for p in pieces[i : end + 1]:
                p.formal = True
            changed = True
    return changed


def _closing(pieces: list[Piece], i: int) -> int | None:
    depth = 0
    for j in range(i, len(pieces)):
        depth += {"open": 1, "close": -1}.get(pieces[j].kind, 0)
        if depth == 0:
            return j if pieces[j].text == _CLOSING[pieces[i].text] else None
    return None


def _sign_near(pieces: list[Piece], i: int, step: int) -> bool:
    """Whether a sign and an operand beyond it are next in that direction."""
    near = (_at(pieces, i + k * step) for k in range(1, 7))
    beyond = [piece for piece in near if piece.kind != "space"]
    operand = next((piece for piece in beyond if piece.kind != "sign"), Piece("end", ""))
    return beyond[0].kind == "sign" and (bool(operand.formal) or operand.kind == "number")


def _grow(pieces: list[Piece], i: int, step: int) -> bool:
    """Take in what follows (or precedes) a formula, up to the next operand."""
    path: list[Piece] = []
    signs = 0
    j = i + step
    while 0 <= j < len(pieces):
        piece = pieces[j]
        if piece.kind == "space" and len(path) - signs > 1:
            return False
        if piece.kind == "space":
            path.append(piece)
        elif piece.kind == "sign" and piece.formal is None:
            signs += 1
            path.append(piece)
        else:
            break
        j += step
    if not path and not (0 <= j < len(pieces) and pieces[j].kind == "number"):
        return False
    end = _at(pieces, j)
    if not signs and path and "number" in (pieces[i].kind, end.kind):
        return False  # of "δ > 0 κ" the space ends a formula
    operand = end.formal or (end.kind == "number" and (signs or not path))
    if not operand or (not signs and end.kind == "formula" and pieces[i].kind == "formula"):
        return False
    if all(p.formal for p in path) and end.formal:
        return False
    for p in (*path, end):
        p.formal = True
    return True
