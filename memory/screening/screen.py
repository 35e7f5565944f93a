"""The screen: which texts are kept out of prompts: instructions to the agent, secrets and links.

Everything that is remembered was said by somebody: a learner, a web page, a model that read one. A text that
is found here is stored in quarantine with the reason, shown to people, and never injected until somebody
releases it. The rules (`agent_orders`, `secrets`) match the text after its disguises are undone
(`rules`), and a learned score (`order_score`) judges what no rule matches. They stop common attacks, not
clever ones: docs/security.md says what got through, and the data block around every bullet does not depend
on them.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator

from ace_graph.base.text import clean_line
from ace_graph.memory.bullet import Danger
from ace_graph.memory.screening.agent_orders import (
    find_disguised_instruction,
    find_instruction,
    find_order_about_answers,
)
from ace_graph.memory.screening.order_score import order_score
from ace_graph.memory.screening.rules import as_latin, folded, has_link, readings
from ace_graph.memory.screening.secrets import find_secret

_PIECE_CHARS = 2_000
"""How much is matched at once, because a match holds the interpreter; a bullet is not longer."""
_OVERLAP = 300
"""How much two pieces overlap: more than nearly all rules span."""
_MOST_VERDICTS = 50_000
"""Some 15 MB."""
_LEAST, _LEAST_OF_LEARNERS = 0.5, 1.5
"""From which learned score on a text is held: of others; of learners, who wish more."""
_LEAST_WISH = -0.5
"""From which score on it wishes a form of all answers, which is held in the texts of others."""
_ORDER, _WISH = "like an order to the assistant", "like an order about all answers"
_SECRET, _LINK, _INSTRUCTION = "secret: ", "link", "instruction: "


def screen(text: str, vouched: Collection[Danger] = ()) -> str | None:
    """Return why `text` belongs in quarantine, in a few words that quote nothing of it; None for no reason.

    `vouched` are dangers that the writer answers for, such as links in what learners say of themselves, or
    wishes about all of their answers; who vouches for instructions vouches for these, too. A text that was
    screened a short while ago is not screened again.
    """
    return _VERDICTS.of(text, frozenset(vouched))


class _Verdicts:
    """What the screen said of texts, by their hash; the rules stay the same while a process runs."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held = OrderedDict[tuple[bytes, frozenset[Danger]], str | None]()

    def of(self, text: str, vouched: frozenset[Danger]) -> str | None:
        """Return what is held, else screen the text and keep the verdict."""
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), vouched
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        why = _first(_screened(piece, vouched) for piece in _pieces(clean_line(text)))
        with self._lock:
            self._held[key] = why
            if len(self._held) > self._most:
                self._held.popitem(last=False)
        return why


_VERDICTS = _Verdicts(_MOST_VERDICTS)


def is_screen_reason(why: str | None) -> bool:
    """Whether the reason for a quarantine was given by this screen, not by a person."""
    return why is not None and (why == _LINK or why.startswith((_SECRET, _INSTRUCTION)))


def _pieces(line: str) -> Iterator[str]:
    """The text in pieces that overlap, so that nothing is lost where they meet."""
    yield line[:_PIECE_CHARS]
    step = _PIECE_CHARS - _OVERLAP
    for start in range(step, len(line) - _OVERLAP, step):
        yield line[start : start + _PIECE_CHARS]


def _screened(piece: str, vouched: Collection[Danger]) -> str | None:
    plain = folded(piece)
    spellings = dict.fromkeys((plain, as_latin(plain)))
    if "secret" not in vouched and (kind := _first(map(find_secret, spellings))) is not None:
        return _SECRET + kind
    if "link" not in vouched and any(has_link(each.casefold()) for each in spellings):
        return _LINK
    if "instruction" not in vouched and (kind := _instruction_in(plain, vouched)) is not None:
        return _INSTRUCTION + kind
    return None


def _instruction_in(plain: str, vouched: Collection[Danger]) -> str | None:
    texts = tuple(readings(plain))
    kind = _first(map(find_instruction, texts)) or _first(map(find_disguised_instruction, texts))
    own = "answers" in vouched
    if kind is None and not own:
        kind = _first(map(find_order_about_answers, texts))
    if kind is not None:
        return kind
    score = order_score(texts[0])
    if score.order >= (_LEAST_OF_LEARNERS if own else _LEAST):
        return _ORDER
    return _WISH if score.wish >= _LEAST_WISH and not own else None


def _first(found: Iterable[str | None]) -> str | None:
    return next((each for each in found if each is not None), None)
