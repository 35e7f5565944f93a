"""What may not reach a prompt by itself: text that gives orders to the agent, secrets, and links.

Everything that is remembered was said by somebody: a learner, a web page, a model that read one. A text that
is found here is stored in quarantine with the reason, shown to people, and never injected until somebody
releases it. The rules are tables (screen_orders, screen_foreign, screen_secrets, screen_links), matched on
the text as a reader would take it: look-alike letters, accents, invisible joiners, digits for letters and
Base64 are undone first.

Does not: understand. A table stops what is common, not what is clever; docs/security.md says what got
through, and the data block around every bullet does not depend on it.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import Literal

from ace_graph.memory.bullet import Bullet, clean_line
from ace_graph.memory.screen_foreign import foreign_order_in
from ace_graph.memory.screen_links import has_link
from ace_graph.memory.screen_orders import order_in
from ace_graph.memory.screen_secrets import secret_in

__all__ = ["Danger", "readable", "screen", "screen_bullet"]

Danger = Literal["instruction", "secret", "link"]

_LETTERS_APART = re.compile(r"(?<![^\W_])(?:[^\W\d_][ ._*-]){9,}[^\W\d_](?![^\W_])")
_ENCODED = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{24,}={0,2}(?![\w+/])")
_MIXED = re.compile(r"(?<!\w)(?=[a-z@$|]*[0-9@$|])(?=[0-9@$|]*[a-z])[a-z0-9@$|]{3,}(?!\w)")
_BESIDE = re.compile(r"[a-z][0-9@$|]+[a-z]|(?<![\w@$|])[0-9@$|]+[a-z]{2}")
_AS_LETTERS = str.maketrans("0134578@$|", "oieastbasi")
_LOOK_ALIKES = str.maketrans(
    "авеикмнорстухіјѕԁɡαεικνορτυχɩ",
    "abeukmhopctyxijsdgaeiknoptuxi",
)


def screen(text: str, vouched: Collection[Danger] = ()) -> str | None:
    """Return why `text` belongs in quarantine, in a few words that quote nothing of it; None for no reason.

    `vouched` are dangers that the writer answers for, such as links in what learners say of themselves.
    """
    line = clean_line(text)
    if "secret" not in vouched and (kind := secret_in(line)) is not None:
        return f"secret: {kind}"
    folded = line.casefold() if line.isascii() else unicodedata.normalize("NFKC", line).casefold()
    if "link" not in vouched and has_link(folded):
        return "link"
    if "instruction" in vouched:
        return None
    kind = "with its letters set apart" if _LETTERS_APART.search(line) else foreign_order_in(folded)
    if kind is None and not line.isascii():
        kind = foreign_order_in(_latin(line))
    kind = kind or next(filter(None, map(order_in, readable(line))), None)
    return None if kind is None else f"instruction: {kind}"


def screen_bullet(bullet: Bullet, vouched: Collection[Danger] = ()) -> str | None:
    """Return why a bullet belongs in quarantine: every text of it that a prompt may show is read."""
    others = (bullet.section.replace("_", " "), bullet.topic, bullet.concept, *bullet.tags)
    found = screen(bullet.content, vouched)
    return found or next((why for text in others if text and (why := screen(text)) is not None), None)


def readable(text: str) -> Iterator[str]:
    """Yield `text` as a reader may take it: plain lower-case letters, then with its disguises undone."""
    plain = text.casefold() if text.isascii() else _latin(text)
    yield plain
    if _BESIDE.search(plain):
        yield _MIXED.sub(lambda word: word[0].translate(_AS_LETTERS), plain)
    for encoded in _ENCODED.findall(text):
        if (decoded := _decoded(encoded)) is not None:
            yield decoded.casefold()


def _latin(text: str) -> str:
    """Lower case, without accents and format characters, look-alikes of other scripts as Latin letters."""
    plain = unicodedata.normalize("NFKD", text).casefold().translate(_LOOK_ALIKES)
    return "".join(ch for ch in plain if unicodedata.category(ch) not in ("Mn", "Cf"))


def _decoded(encoded: str) -> str | None:
    """The text that is hidden in Base64, None where it is no text."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return text if text.isprintable() else None
