"""The attacks of sharing.tsv on sharing and consolidation: who tries what; and how far each came.

An attack succeeds when a text with the owner's marker comes back to the attacker, or when something changes
that the attacker may not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from benchmarks.redteam.attacks import filled_in

__all__ = ["REACHES", "Outcome", "Reach", "SharingAttack", "read_sharing_attacks", "sharing_report"]

FILE = Path(__file__).with_name("sharing.tsv")

Way = Literal[
    "read",
    "id",
    "name",
    "team",
    "grant",
    "revoke",
    "call",
    "hidden",
    "edit",
    "propose",
    "file",
    "consolidated",
    "accepted and consolidated",
]
Reach = Literal["refused", "no effect", "held back", "stored, not shown", "shown as data", "changed", "read"]
REACHES: tuple[Reach, ...] = get_args(Reach)


@dataclass(frozen=True)
class SharingAttack:
    """One attack: who makes it, in which way, with what. `number` is its place in the file, from 1."""

    number: int
    by: str
    way: Way
    text: str


@dataclass(frozen=True)
class Outcome:
    """How far an attack came; `what` it read or changed."""

    attack: SharingAttack
    reach: Reach
    what: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether it read or changed what it may not."""
        return self.reach in {"read", "changed"}


def read_sharing_attacks(file: Path = FILE) -> Sequence[SharingAttack]:
    """Return the attacks in the order of the file. Raises ValueError naming a line that is none."""
    lines = file.read_text(encoding="utf-8").splitlines()
    counted = [line for line in lines if line and not line.startswith("#")]
    return [_attack(number, line) for number, line in enumerate(counted, 1)]


def _attack(number: int, line: str) -> SharingAttack:
    parts = line.split("\t")
    if len(parts) != 3 or parts[1] not in get_args(Way):
        raise ValueError(f"no attack: {line!r}")
    return SharingAttack(number, filled_in(parts[0]), cast("Way", parts[1]), filled_in(parts[2]))


_INTRO = """\
# Red team: sharing and consolidation

Attacks of [sharing.tsv](sharing.tsv), each played against an owner with a memory, a private playbook, and a
playbook that is shared and also holds what must not leave her. Made by `make red-team`,
which plays them on the store in memory, and on PostgreSQL where there is one: the result has to be the same.

- **refused**: an error.
- **no effect**: no error, and nothing that the attacker may not see or change.
- **held back**: what an editor or an accepted proposal wrote is in quarantine.
- **stored, not shown**: it is in the shared playbook, and the reader's question did not find it.
- **shown as data**: a reader's prompt holds it between its delimiters: who may write, may write falsehoods.
- **changed**: it changed what the attacker may not change, or lost what the owner had. Critical.
- **read**: the attacker got what is the owner's own. Critical.
"""


def sharing_report(outcomes: Sequence[Outcome]) -> str:
    """Return the page in Markdown."""
    ways = list(dict.fromkeys(outcome.attack.way for outcome in outcomes))
    rows = [
        f"| way | attacks | {' | '.join(REACHES)} |",
        f"|---|---:|{'---:|' * len(REACHES)}",
        *(_row(way, [each for each in outcomes if each.attack.way == way]) for way in ways),
        _row("all", outcomes),
    ]
    through = [each for each in outcomes if each.reach in {"shown as data", "changed", "read"}]
    listed = [
        "| attack | by | way | reach | what |",
        "|---:|---|---|---|---|",
        *(
            f"| {each.attack.number} | {each.attack.by} | {each.attack.way} | {each.reach} | {each.what} |"
            for each in through
        ),
    ]
    return "\n".join([_INTRO, *rows, "", "## What readers saw", "", *listed, ""])


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    counts = [sum(each.reach == reach for each in outcomes) for reach in REACHES]
    return f"| {name} | {len(outcomes)} | {' | '.join(map(str, counts))} |"
