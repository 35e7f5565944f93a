"""Which texts hold a link: an address with its scheme, a Markdown link, or a name that browsers open.

A bare name is a link where it stands like a name. Endings that are also names of attributes (`data.info`,
`window.top`, `event.click`) need more: a path, a hyphen in the name, or somebody who is sent there. An e-mail
address is no link, and neither is the name of a file. The rules are in data/links.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ace_graph.memory.screening.rules import first_kind, patterns_of, read_rules

__all__ = ["has_link", "patterns"]


def has_link(text: str) -> bool:
    """Whether `text`, which is folded and in lower case, holds a link."""
    return first_kind(read_rules("links.toml"), text) is not None


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the data."""
    return patterns_of(read_rules("links.toml"))
