r"""Breaking long formulas into lines.

LaTeX is cut into tokens, each with its nesting depth. A formula that is wider than a line is broken at the
outermost level: before each relation first, then before + and − where a line is still too long. What
cannot be broken (one tall fraction, say) stays whole, and the book scales it down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

LINE = 64
"""The width of a line, in characters of ordinary size."""

_TOKEN = re.compile(r"\\begin\{[a-z*]+\}|\\end\{[a-z*]+\}|\\[A-Za-z]+\*?|\\.|:=|\s+|.", re.DOTALL)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RELATIONS = _words(
    r"""= := < > \le \leq \ge \geq \ne \neq \approx \sim \simeq \equiv \to \mapsto \in \iff \implies
    \Leftrightarrow \Rightarrow \Longleftrightarrow \Longrightarrow \propto \longrightarrow"""
)
_SIGNS = _words(r"+ - \pm \mp")
_NO_OPERAND = _RELATIONS | _SIGNS | _words(r"\cdot \,")
_OPENERS = _words(r"{ ( [ \left \lfloor \lceil \langle")
_CLOSERS = _words(r"} ) ] \right \rfloor \rceil \rangle")
_FUNCTIONS = _words(r"\sinh \cosh \tanh \coth \log \exp \sin \cos \tan \max \min")
_INVISIBLE = _words(
    r"""{ } ^ _ \left \right \, \; \! \: \displaystyle \mathrm \mathbf \mathbb \operatorname \text
    \dot \hat \bar \tilde \bigl \bigr \Bigl \Bigr \big \Big"""
)


@dataclass(frozen=True)
class Token:
    """A piece of LaTeX and how deep it lies in groups, parentheses and environments."""

    text: str
    depth: int


def tokens(tex: str) -> list[Token]:
    r"""The tokens of a formula. `\left(` opens one level, not two; a brace that is printed opens none."""
    found: list[Token] = []
    depth = 0
    after_fence = False
    for match in _TOKEN.finditer(tex):
        text = match.group()
        opens = text in _OPENERS or text.startswith(r"\begin")
        closes = text in _CLOSERS or text.startswith(r"\end")
        if after_fence:  # the delimiter that belongs to \left or \right
            opens = closes = False
        if closes:
            depth -= 1
        found.append(Token(text, depth))
        if opens:
            depth += 1
        after_fence = text in (r"\left", r"\right")
    return found


def width(tex: str) -> int:
    r"""About how many characters wide the formula is set: fractions count their longer half."""
    return _width([token.text for token in tokens(tex)])


def _width(texts: list[str]) -> int:
    total, i = 0, 0
    while i < len(texts):
        text = texts[i]
        if text in (r"\frac", r"\tfrac", r"\dfrac", r"\binom"):
            upper, i = _group(texts, i + 1)
            lower, i = _group(texts, i)
            total += max(_width(upper), _width(lower))
            continue
        if not text.isspace() and text not in _INVISIBLE:
            total += len(text) - 1 if text in _FUNCTIONS else 1
        i += 1
    return total


def _group(texts: list[str], i: int) -> tuple[list[str], int]:
    """The argument that starts at i, without its braces, and where the next one starts."""
    while texts[i].isspace():
        i += 1
    if texts[i] != "{":
        return [texts[i]], i + 1
    depth, j = 1, i + 1
    while depth:
        depth += {"{": 1, "}": -1}.get(texts[j], 0)
        j += 1
    return texts[i + 1 : j - 1], j


def _starts(parts: list[Token], marks: frozenset[str]) -> list[int]:
    """Where a mark stands at the outermost level with something before it to act on."""
    found, operand = [], False
    for i, token in enumerate(parts):
        if token.text.isspace():
            continue
        if token.depth == 0 and token.text in marks and operand:
            found.append(i)
            operand = False
        else:
            operand = token.depth > 0 or token.text not in _NO_OPERAND
    return found


def _split(parts: list[Token], marks: frozenset[str]) -> list[str]:
    cuts = [0, *_starts(parts, marks), len(parts)]
    pieces = ("".join(token.text for token in parts[a:b]).strip() for a, b in pairwise(cuts))
    return [piece for piece in pieces if piece]


def _fill(pieces: list[str], line: int) -> Iterator[str]:
    """As many pieces on each line as fit."""
    current = ""
    for piece in pieces:
        if current and width(current) + width(piece) > line:
            yield current
            current = piece
        else:
            current = f"{current} {piece}".strip()
    yield current


def lines(tex: str, line: int = LINE) -> list[str]:
    """The formula as lines that fit, each but the first starting with a relation or a sign."""
    if width(tex) <= line:
        return [tex.strip()]
    broken: list[str] = []
    for relation in _split(tokens(tex), _RELATIONS):
        broken.extend(_fill(_split(tokens(relation), _SIGNS), line) if width(relation) > line else [relation])
    merged = list(_fill(broken[:2], line)) + broken[2:]  # a short left-hand side stays with its relation
    return merged


def aligned(rows: list[str]) -> str:
    r"""Lines as one `aligned` environment: relations stand below each other, other lines are indented."""
    if len(rows) == 1:
        return rows[0]
    set_rows = []
    for row in rows:
        cut = _starts(tokens("." + row), _RELATIONS)[:1]
        if not cut:
            set_rows.append(rf"&\quad {row}")
            continue
        parts = tokens(row)
        at = cut[0] - 1
        left, right = ("".join(t.text for t in part) for part in (parts[:at], parts[at:]))
        set_rows.append(f"{left.rstrip()} &{right}".lstrip())
    body = " \\\\\n".join(set_rows)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def display(tex: str, line: int = LINE) -> str:
    """The formula, broken into aligned lines where it is too long for one."""
    return tex if tex.lstrip().startswith(r"\begin{") else aligned(lines(tex, line))


def stacked(formulas: list[str], line: int = LINE) -> str:
    """Several formulas below each other, aligned at their first relation."""
    return aligned([row for tex in formulas for row in lines(tex, line)])


def formulas_of_rows(tex: str) -> list[str]:
    """The formulas that are set below each other, each on one line again."""
    found: list[str] = []
    for row in re.sub(r"\\(?:begin|end)\{(?:aligned|gathered)\}", "", tex).split("\\\\\n"):
        text = " ".join(row.replace(r"&\quad", "").replace("&", "").split())
        if row.strip().startswith("&") and found:
            found[-1] += f" {text}"
        else:
            found.append(text)
    return found


def without_repetition(tex: str) -> str:
    """A chain a = b = b or a = b = a with each member once: a = b. An equation of two equal sides stays one."""
    first, *rest = _split(tokens(tex), _RELATIONS) or [""]
    seen = ["=" + "".join(first.split())]
    kept = [first]
    for piece in rest:
        bare = "".join(piece.split())
        if len(kept) == 1 or bare not in (seen if all(member[0] == "=" for member in seen) else seen[-1:]):
            kept.append(piece)
            seen.append(bare)
    return " ".join(kept)


_LONE = r"((?:\\math(?:cal|bf) [A-Za-z]|\\[A-Za-z]+|[A-Za-z])(?:_(?:\\?[A-Za-z]+|\{[^{}]*\}|\*))?'?)"
_NEEDLESS = (
    (re.compile(rf"(?<![A-Za-z}}])\\left\(\s*{_LONE}\s*\\right\)(?=\^)"), r"\1"),
    (re.compile(rf"(?<![A-Za-z}}])\(\s*{_LONE}\s*\)(?=\^)"), r"\1"),
    (re.compile(rf"(\\frac{{d}}{{dt}})\\left\(\s*{_LONE}\s*\\right\)"), r"\1 \2"),
    (re.compile(r"\\left\(\\left\(([^()]*)\\right\)\\right\)"), r"\\left(\1\\right)"),
    (re.compile(r"(\\frac{d}{dt})\\left\((\([^()]*\))\\right\)"), r"\1 \2"),
)
"""Parentheses around one symbol under an exponent or a derivative, and doubled ones around a tuple."""
_ARGUMENTS = {r"\frac": 2, r"\tfrac": 2, r"\dfrac": 2, r"\sqrt": 1}


def tidy(tex: str) -> str:
    """The formula without the parentheses around all of a root or of half a fraction, which say nothing."""
    text = "".join(_tidied([token.text for token in tokens(tex)]))
    for pattern, replacement in _NEEDLESS:
        text = pattern.sub(replacement, text)
    return text


def _tidied(texts: list[str]) -> list[str]:
    found: list[str] = []
    i = 0
    while i < len(texts):
        text = texts[i]
        found.append(text)
        i += 1
        if text == r"\sqrt" and texts[i] == "[":
            end = texts.index("]", i) + 1
            found += texts[i:end]
            i = end
        for _ in range(_ARGUMENTS.get(text, 0)):
            group, i = _group(texts, i)
            found += ["{", *_tidied(_unwrapped(group)), "}"]
    return found


def _unwrapped(group: list[str]) -> list[str]:
    """The inside of a pair of parentheses that encloses the whole group."""
    parts = tokens("".join(group).strip())
    texts = [part.text for part in parts]
    fenced = texts[:1] == [r"\left"] and texts[1:2] == ["("] and texts[-2:] == [r"\right", ")"]
    n = 2 if fenced else 1
    if not fenced and (texts[:1] != ["("] or texts[-1:] != [")"]):
        return group
    if any(part.depth == 0 for part in parts[n:-n]):
        return group
    return texts[n:-n]
