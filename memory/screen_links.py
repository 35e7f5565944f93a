"""Which texts hold a link: an address with its scheme, a Markdown link, or a name that browsers open.

Does not: judge where a link leads. An e-mail address is no link, and neither is the name of a file.
"""

from __future__ import annotations

from ace_graph.memory.screen_rule import Rule, first, rule

__all__ = ["has_link"]

_LABELS = r"(?<![\w@.])(?:[\w-]{1,63}(?:\.|\[\.\]|\(\.\)| \[?dot\]? )){1,4}"

_LINKS: tuple[Rule, ...] = (
    rule("link", "://", r"\b(?:h(?:tt|xx)ps?|ftps?|wss?|file|sftp|ssh|git|ipfs|magnet)\s?://"),
    rule("link", "javascript: vbscript: data:", r"\b(?:java|vb)script:\s?\S|\bdata:\w+/[\w+.-]+[;,]"),
    rule("link", "www", r"\bwww\d?\s?\.\s?\w"),
    rule("link", "](", r"\]\(\s*[^)\s]+\s*\)"),
    rule(
        "link",
        ".com .net .org .info .biz .ru .cn .xyz .top .onion .tk .zip .click [.] (.) dot",
        _LABELS + r"(?:com|net|org|info|biz|ru|cn|xyz|top|onion|tk|click)(?![\w(.-]|\.\w)(?!\s?=)",
    ),
    rule("link", "?", r"(?<![\w@.])(?:[\w-]{1,63}\.){1,4}[a-z]{2,6}/[^\s?]{0,60}\?\S+="),
    rule("link", "//", r"(?<![\w:/])//(?:[\w-]{1,63}\.){1,4}[a-z]{2,6}/"),
)


def has_link(text: str) -> bool:
    """Whether `text`, which is lower case, holds a link."""
    return first(_LINKS, text) is not None
