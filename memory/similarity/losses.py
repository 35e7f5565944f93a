"""What a text lacks of the texts that it takes the place of: numbers, names, code, links, quotations, "not".

A summary tends to drop exactly what made its sources useful (the brevity bias of document 004, 6.1). So a
text that loses one of these never replaces its sources. Everything is matched as it is written, but for case
and spacing; in doubt an item counts as lost, because a refused merge costs a line and a wrong one knowledge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from ace_graph.memory.search.word_list import has_list, is_word
from ace_graph.memory.similarity.claim import parse_claim

LossKind = Literal["number", "name", "code", "link", "quotation", "negation"]

_AROUND = ".,;:!?()[]{}<>\"'`“”„«»‘’…*"
_ENDS_SENTENCE = (".", "!", "?", ":", ";")
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "`": "`"}
_CODE_MARKS = ("_", "::", "()", "->", "=", "\\", "@", "$", "#", "/")


class Loss(NamedTuple):
    """One item that a text lacks: its kind, and the item as its source has it.

    Items of one kind with one `key` are the same: 30 minutes are half an hour.
    """

    kind: LossKind
    item: str
    key: str

    def __str__(self) -> str:
        return f"{self.kind} {self.item}"


def losses(sources: Iterable[str], text: str) -> tuple[Loss, ...]:
    """Return what `text` lacks of the sources, each item once, in the order of the sources.

    Takes time linear in the length of the texts.
    """
    kept = {(item.kind, item.key) for item in items_of(text)}
    plain = _plain(text)
    found: dict[tuple[str, str], Loss] = {}
    for source in sources:
        for item in items_of(source):
            held = item.kind == "quotation" and item.key in plain
            if not held and (item.kind, item.key) not in kept:
                found.setdefault((item.kind, item.key), item)
    return tuple(found.values())


@lru_cache(maxsize=4_096)  # a plan compares each text with all that are alike
def items_of(text: str) -> tuple[Loss, ...]:
    """Return what of a text must not be lost, each item once."""
    claim = parse_claim(text)
    items = [
        Loss("number", " ".join(filter(None, (number.value, number.unit))), " ".join(number.amount))
        for number in claim.numbers
        if number.unit or number.value != "1" or "1" in text  # "one" is mostly no number
    ]
    items += (Loss("negation", f"not {claim.surfaces.get(root, root)}", root) for root in claim.negated)
    items += (Loss("quotation", quoted, _plain(quoted)) for quoted in _quotations(text))
    items += (Loss(kind, word, _plain(word)) for kind, word in _marked(text.split(), claim.language))
    return tuple(dict.fromkeys(items))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _quotations(text: str) -> Iterator[str]:
    """Yield what stands between quotation marks or backticks; a mark that is not closed quotes nothing."""
    place, unclosed = 0, set[str]()
    while place < len(text):
        mark = text[place]
        closing = None if mark in unclosed else _QUOTES.get(mark)
        end = -1 if closing is None else text.find(closing, place + 1)
        if closing is not None and end < 0:
            unclosed.add(mark)
        if end > place + 1:
            yield text[place + 1 : end]
        place = max(place, end) + 1


def _marked(words: Sequence[str], language: str) -> Iterator[tuple[LossKind, str]]:
    """Yield the words that are links, code or names."""
    opens = True
    for word in words:
        bare = word.strip(_AROUND)
        kind = _kind_of(word, bare, opens=opens, language=language)
        if kind is not None:
            yield kind, bare.removesuffix("'s").removesuffix("’s")
        opens = word.endswith(_ENDS_SENTENCE) or (opens and not bare)


def _kind_of(word: str, bare: str, *, opens: bool, language: str) -> LossKind | None:
    letters = any(letter.isalpha() for letter in bare)
    if not letters:
        return None
    if "://" in bare or bare.startswith("www."):
        return "link"
    if word.rstrip(",;.").endswith("()") or any(mark in bare for mark in _CODE_MARKS):
        return "code"
    dotted = "." in bare.strip(".") and len(bare) > len("e.g")
    mixed = any(letter.isdigit() for letter in bare) and bare[0].isalpha()
    if dotted or mixed or bare.startswith("--"):
        return "code"
    if bare.startswith(("I'", "I’")):
        return None
    inner = bare[1:].removesuffix("'s")
    if any(letter.isupper() for letter in inner):
        return "name"
    if not bare[0].isupper() or len(bare) == 1:
        return None
    return "name" if not opens or _unknown(bare, language) else None


def _unknown(word: str, language: str) -> bool:
    """Whether a capitalised word that opens a sentence is no word of its language, and so a name."""
    return has_list(language) and not is_word(word.casefold().removesuffix("'s"), language)
