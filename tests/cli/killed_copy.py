"""A process that copies a store and kills itself; `python -m tests.cli.killed_copy FROM TO TURN`.

Does not: hold a test. It dies within a transaction, when it writes the turn with that number.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

from ace_graph.cli.command import Call
from ace_graph.cli.store import copy
from ace_graph.memory.stores.postgres import whole as postgres
from ace_graph.memory.stores.sqlite import whole as sqlite
from ace_graph.memory.stores.whole import WholeTurn
from ace_graph.memory.stores.whole_columns import whole_turn_columns


def _die_at(turn: int) -> None:
    numbers = count(1)

    def columns(written: WholeTurn) -> dict[str, object]:
        if next(numbers) == turn:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole_turn_columns(written)

    sqlite.whole_turn_columns = columns  # each module's own name for it
    postgres.whole_turn_columns = columns


if __name__ == "__main__":
    _die_at(int(sys.argv[3]))
    sys.exit(copy(Call(as_json=True), sys.argv[1], sys.argv[2]))
