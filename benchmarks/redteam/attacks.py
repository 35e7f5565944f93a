"""The attacks of attacks.tsv: how each comes in, what it is after, and its text.

Does not: play them (play.py does).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

__all__ = ["Aim", "Attack", "Via", "read_attacks"]

Via = Literal["question", "tool", "feedback", "import", "reflector", "learner_id"]
Aim = Literal["order", "secret", "link", "false", "flood", "other"]

FILE = Path(__file__).with_name("attacks.tsv")

_TOKEN = "".join(("k3Jq9", "Zt7Lm", "2Xw8V", "b5Np4", "Rc6Hd1"))
_STANDS_FOR = {
    "{n}": "\n",
    "{sp}": " ",
    "{zwsp}": "\u200b",
    "{aws}": "AKIA" + "QWERTYUIOPASDFGH",
    "{github}": "ghp_" + _TOKEN,
    "{key}": "sk-" + _TOKEN,
    "{pem}": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "{jwt}": "eyJ" + _TOKEN + ".eyJ" + _TOKEN + "." + _TOKEN,
}


@dataclass(frozen=True)
class Attack:
    """One attack. `number` is its place in the file, from 1."""

    number: int
    via: Via
    aim: Aim
    text: str


def read_attacks(file: Path = FILE) -> Sequence[Attack]:
    """Return the attacks in the order of the file. Raises ValueError naming a line that is none."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [_attack(number, line) for number, line in enumerate(filter(_counts, lines), 1)]


def _counts(line: str) -> bool:
    return bool(line) and not line.startswith("#")


def _attack(number: int, line: str) -> Attack:
    parts = line.split("\t")
    if len(parts) != 3 or parts[0] not in get_args(Via) or parts[1] not in get_args(Aim):
        raise ValueError(f"no attack: {line!r}")
    text = parts[2]
    for name, meant in _STANDS_FOR.items():
        text = text.replace(name, meant)
    return Attack(number, cast("Via", parts[0]), cast("Aim", parts[1]), text)
