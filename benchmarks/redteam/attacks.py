"""The attacks of attacks.tsv: how each comes in, what it is after, and its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

__all__ = ["Aim", "Attack", "Via", "filled_in", "read_attacks"]

Via = Literal["question", "tool", "feedback", "import", "reflector", "learner_id"]
Aim = Literal["order", "secret", "link", "false", "flood", "other"]

FILE = Path(__file__).with_name("attacks.tsv")

_TOKEN = "".join(("k3Jq9", "Zt7Lm", "2Xw8V", "b5Np4", "Rc6Hd1"))
_STANDS_FOR = {
    "{n}": "\n",
    "{sp}": " ",
    "{zwsp}": "\u200b",
    "{zwj}": "\u200d",
    "{zwnj}": "\u200c",
    "{aws}": "AKIA" + "QWERTYUIOPASDFGH",
    "{github}": "ghp_" + _TOKEN,
    "{key}": "sk-" + _TOKEN,
    "{pem}": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "{jwt}": "eyJ" + _TOKEN + ".eyJ" + _TOKEN + "." + _TOKEN,
    "{random}": _TOKEN,
    "{aws_rest}": "QWERTYUIOPASDFGH",
    "{wide}": "ＱＷＥＲＴＹＵＩＯＰＡＳＤＦＧＨ",
    "{card}": " ".join(("4111", "1111", "1111", "1111")),
    "{card_dashes}": "-".join(("5555", "5555", "5555", "4444")),
    "{iban}": "DE89" + "370400440532013000",
    "{iban_spaces}": " ".join(("FR14", "2004", "1010", "0505", "0001", "3M02", "606")),
    "{age}": "AGE-SECRET-" + "KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2,
    "{seed}": "legal winner thank year wave sausage worth useful legal winner thank yellow",
    "{discord}": "MTk4NjIyNDgzNDcxOTI1" + "MjQ4" + ".Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs",
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
    return Attack(number, cast("Via", parts[0]), cast("Aim", parts[1]), filled_in(parts[2]))


def filled_in(text: str) -> str:
    """Return a text of these files with what its names in braces stand for."""
    for name, meant in _STANDS_FOR.items():
        text = text.replace(name, meant)
    return text
