"""Clean text: what UTF-8 can encode, on one line, of bounded length."""

from __future__ import annotations

import unicodedata

# Cc: controls, Cf: format characters (right-to-left marks, zero width), Cs: surrogates, Zl/Zp: separators.
_REPLACED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")  # needed inside words of several scripts, and inside emoji


def clean_line(text: str) -> str:
    """Return `text` as one line without control, format or surrogate characters, spaces collapsed."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    kept = "".join(ch if ch in _JOINERS or unicodedata.category(ch) not in _REPLACED else " " for ch in text)
    return " ".join(kept.split())


def encodable(value: object) -> object:
    """Return a text as UTF-8 can encode it: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def without_surrogates(text: str) -> str:
    """Return `text` with "?" for every surrogate, which UTF-8 can't encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def truncate(text: str, limit: int, *, show_length: bool = False) -> str:
    """Return the first `limit` characters of `text`, with "…" after a cut and "?" for surrogates.

    With `show_length` a cut is followed by the length of the whole text: "… [len=9000]".
    """
    clean = without_surrogates(text)
    if len(clean) <= limit:
        return clean
    return f"{clean[:limit]}… [len={len(clean)}]" if show_length else f"{clean[:limit]}…"


def shorten(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`, the "…" after a cut included, with "?" for surrogates."""
    clean = without_surrogates(text)
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"
