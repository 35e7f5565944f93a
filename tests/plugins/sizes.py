"""How large and how patient tests are.

What takes long is small in the gate, full with ACE_TEST_HEAVY=1, which .ci/long sets. No test depends on
how fast the machine is: where something has to end, it waits `PATIENT` seconds before it calls that a hang.
"""

from __future__ import annotations

import os

__all__ = ["HEAVY", "PATIENT", "sized"]

HEAVY = "ACE_TEST_HEAVY" in os.environ
PATIENT = 600.0


def sized(gate: int, full: int) -> int:
    """Return the number for this run."""
    return full if HEAVY else gate
