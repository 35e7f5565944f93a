"""What the screen answered for many texts, recorded, so that no answer changes unseen.

    python -m tests.memory.screening.recorded

writes the record anew after a change that is wanted; read the difference before you commit it. Whether an
answer is right is judged elsewhere (test_screen.py, test_harmless.py, benchmarks/redteam).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from ace_graph.memory.screening import folded, readings, redact
from ace_graph.memory.screening.screen import screen
from benchmarks.redteam.attacks import read_attacks
from benchmarks.redteam.screening import read_disguised, read_harmless

RECORD = Path(__file__).with_name("recorded.tsv")
_HARMLESS = Path(__file__).with_name("harmless.txt")


def whole_texts() -> list[str]:
    """Return the attacks and the harmless texts, but those kept to measure with."""
    samples = [each.text for each in (*read_disguised(), *read_harmless()) if each.half == "tuning"]
    harmless = [line for line in _HARMLESS.read_text("utf-8").splitlines() if not line.startswith("#")]
    return [*(attack.text for attack in read_attacks()), *samples, *harmless]


def texts() -> list[str]:
    """Return those texts and parts of them."""
    whole = whole_texts()
    behind = (text.partition(" ")[2] for text in whole)
    before = (text.rpartition(" ")[0] for text in whole)
    return list(dict.fromkeys(filter(None, (*whole, *behind, *before))))


def answers(given: Iterable[str]) -> dict[str, str]:
    """Return what is recorded of each text, by a hash of it: made-up secrets stand in no file.

    It is why the text is kept back, and hashes of the redacted text and of its readings.
    """
    return {
        _hash(text): f"{screen(text) or '-'}\t{_hash(redact(text))}\t{_hash(_read(text))}" for text in given
    }


def read_record() -> dict[str, str]:
    """Return what was recorded: a line's first field, and the rest."""
    record = dict[str, str]()
    for line in RECORD.read_text(encoding="utf-8").splitlines():
        key, _, answer = line.partition("\t")
        record[key] = answer
    return record


def _read(text: str) -> str:
    return "\n".join(readings(folded(text)))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


if __name__ == "__main__":
    lines = (f"{key}\t{answer}\n" for key, answer in answers(texts()).items())
    RECORD.write_text("".join(lines), encoding="utf-8")
