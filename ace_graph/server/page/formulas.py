r"""Formulas in answers: `$...$`, `$$...$$`, `\(...\)` and `\[...\]` become MathML, which browsers show.

latex2mathml reads the LaTeX; what it makes is written anew here, of known elements and attributes only, and
escaped. What is not understood, is not on these lists or is too long stays the text that it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import unescape
from xml.etree.ElementTree import Element

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

MAX_FORMULA_CHARS = 500
MAX_FORMULAS_CHARS = 4_000
"""Of all formulas of an answer; later ones stay text."""
_ELEMENTS = frozenset(
    [
        *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mstyle", "mpadded", "mphantom", "menclose"),
        *("mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover"),
        *("mmultiscripts", "mprescripts", "none", "mtable", "mtr", "mtd"),
    ]
)
_ATTRIBUTES = frozenset(
    [
        *(
            "accent",
            "columnalign",
            "columnlines",
            "columnspacing",
            "display",
            "displaystyle",
            "fence",
            "form",
        ),
        *("largeop", "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits"),
        *(
            "notation",
            "rowlines",
            "rowspacing",
            "rspace",
            "scriptlevel",
            "separator",
            "stretchy",
            "symmetric",
        ),
    ]
)
_DROPPED = frozenset({"linebreak", "mathbackground", "mathcolor", "xmlns"})
_SPACES = frozenset({"width", "height", "depth", "voffset"})
_VALUE = re.compile(r"[A-Za-z0-9.+% -]{1,80}")
_SPACE = re.compile(r"-?\d{0,2}(?:\.\d{1,4})?(?:em|ex|pt|mu|px)?")
_MACROS = ("\\def", "\\newcommand", "\\newenvironment", "\\DeclareMathOperator")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_CLOSED_BY: Mapping[str, str] = {"$$": "$$", "$": "$", r"\(": r"\)", r"\[": r"\]"}
_USED = "formula_chars"


def with_formulas(reader: MarkdownIt) -> MarkdownIt:
    """Return the reader of Markdown, which reads formulas from now on."""
    reader.inline.ruler.before("escape", "formula", _read)
    reader.add_render_rule("formula", _rendered)
    return reader


def _read(state: StateInline, silent: bool) -> bool:
    """Read a formula where one begins."""
    opened = next((sign for sign in _CLOSED_BY if state.src.startswith(sign, state.pos)), None)
    if opened is None:
        return False
    start, closed = state.pos + len(opened), _CLOSED_BY[opened]
    end = state.src.find(closed, start, min(state.posMax, start + MAX_FORMULA_CHARS + len(closed)))
    source = state.src[start:end] if end > 0 else ""
    if not source.strip() or "`" in source or (opened == "$" and not _is_formula(state, start, end)):
        return False
    used = int(state.env.get(_USED, 0)) + len(source)
    made = mathml(source.strip(), block=opened in ("$$", r"\[")) if used <= MAX_FORMULAS_CHARS else None
    if not silent and made is not None:
        state.env[_USED] = used
        state.push("formula", "math", 0).content = made
    elif not silent:
        state.pending += f"{opened}{source}{closed}"
    state.pos = end + len(closed)
    return True


def _is_formula(state: StateInline, start: int, end: int) -> bool:
    """Whether what stands between two dollar signs is a formula and not prices, as in `$5 and $6`."""
    source, before, after = (
        state.src[start:end],
        state.src[start - 2 : start - 1],
        state.src[end + 1 : end + 2],
    )
    if (
        source[0].isspace()
        or source[-1].isspace()
        or source[-1] == "\\"
        or before.isalnum()
        or after.isdigit()
    ):
        return False
    return not (source[0].isdigit() and _WORD.search(source))


def _rendered(_: RendererHTML, tokens: list[Token], place: int, __: OptionsDict, ___: EnvType) -> str:
    return tokens[place].content


@lru_cache(maxsize=512)
def mathml(latex: str, *, block: bool = False) -> str | None:
    """Return LaTeX as MathML; None for what is not understood, defines macros, or would be something else."""
    from latex2mathml.converter import convert_to_element  # it reads a table of 50 ms

    if len(latex) > MAX_FORMULA_CHARS or any(macro in latex for macro in _MACROS):
        return None
    try:
        aligned = latex.replace("{aligned}", "{align*}")  # the one that it does not know
        return "".join(_written(convert_to_element(aligned, display="block" if block else "inline")))
    except Exception:  # it raises what its parser runs into, also IndexError and RecursionError
        return None


def _written(element: Element) -> Iterator[str]:
    """Yield the element anew. Raises ValueError for one that is on no list."""
    if element.tag not in _ELEMENTS:
        raise ValueError(element.tag)
    yield f"<{element.tag}"
    for name, value in element.attrib.items():
        if name in _DROPPED:
            continue
        if name not in _SPACES and (name not in _ATTRIBUTES or not _VALUE.fullmatch(value)):
            raise ValueError(name)
        if name not in _SPACES or _SPACE.fullmatch(value):
            yield f' {name}="{value}"'
    yield f">{escapeHtml(unescape(element.text or ''))}"
    for child in element:
        yield from _written(child)
    yield f"</{element.tag}>"
