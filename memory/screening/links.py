"""Which texts hold a link: an address with its scheme, a Markdown link, or a name that browsers open.

A bare name is a link where it stands like a name. Endings that are also names of attributes (`data.info`,
`window.top`, `event.click`) need more: a path, a hyphen in the name, or somebody who is sent there.

Does not: judge where a link leads. An e-mail address is no link, and neither is the name of a file.
"""

from __future__ import annotations

from ace_graph.memory.screening.rules import Rule, first, rule

__all__ = ["has_link"]

_DOT = r"(?:\.|\[\.\]|\(\.\)| \[?dot\]? )"
_NAME = rf"(?<![\w@.])(?:[\w-]{{1,63}}{_DOT}){{1,4}}"
_END = r"(?![\w(.-]|\.\w)(?! ?=)"
_ATTRIBUTES = r"(?:info|top|click|biz|online|site|shop)"

_LINKS: tuple[Rule, ...] = (
    rule("link", "://", r"\b(?:h(?:tt|xx)ps?|ftps?|wss?|file|sftp|ssh|git|ipfs|magnet) ?://"),
    rule("link", "://", r"\b[a-z][a-z0-9+.-]{0,20} ?:// ?[^\s/:@]{1,100}\.[a-z]"),
    rule(
        "link", "javascript: vbscript: data:", r"\b(?:java|vb)script: ?\S|\bdata:\w{1,40}/[\w+.-]{1,60}[;,]"
    ),
    rule("link", "www", r"\bwww\d? ?\. ?\w"),
    rule("link", "](", r"(?<!\w)\[[^\]]{0,200}\]\( ?[^)\s]{0,200}[./#:]"),
    rule(
        "link",
        ".com .net .org .ru .cn .xyz .onion .tk [.] (.) dot",
        rf"{_NAME}(?:com|(?<!java.)(?<!system.)(?<!asp.)net|org|ru|cn|xyz|onion|tk){_END}",
    ),
    rule(
        "link",
        ".info .top .click .biz .online .site .shop [.] (.) dot",
        rf"{_NAME}{_ATTRIBUTES}/|(?<![\w@.])\w{{1,40}}-[\w-]{{1,40}}{_DOT}{_ATTRIBUTES}{_END}"
        rf"|\b(?:visit|open|go to|browse|website|site|page|besuche|visita"
        rf"|visite[rz]?) {_NAME}{_ATTRIBUTES}{_END}"
        rf"|(?<![\w@.])[\w-]{{1,63}}(?:\[\.\]|\(\.\)| \[?dot\]? ){_ATTRIBUTES}{_END}",
    ),
    rule("link", "?", r"(?<![\w@.])(?:[\w-]{1,63}\.){1,4}[a-z]{2,6}/[^\s?]{0,60}\?\S{1,60}="),
    rule("link", "//", r"(?<![\w:/])//(?:[\w-]{1,63}\.){1,4}[a-z]{2,6}/"),
)


def has_link(text: str) -> bool:
    """Whether `text`, which is folded and in lower case, holds a link."""
    return first(_LINKS, text) is not None
