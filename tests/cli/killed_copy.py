"""A process that copies a store and kills itself; `python -m tests.cli.killed_copy FROM TO TURN`.

Does not: hold a test. It dies within a transaction, when it writes the turn with that number.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

from ace_graph.cli import Call, copy
from ace_graph.memory.stores import WholeTurn
from ace_graph.memory.stores import export as whole


def _die_at(turn: int) -> None:
    turn_row = whole.turn_row
    numbers = count(1)

    def columns(written: WholeTurn) -> dict[str, object]:
        if next(numbers) == turn:
            os.kill(os.getpid(), signal.SIGKILL)
        return turn_row(written)

    whole.turn_row = columns


if __name__ == "__main__":
    _die_at(int(sys.argv[3]))
    sys.exit(copy(Call(as_json=True), sys.argv[1], sys.argv[2]))
