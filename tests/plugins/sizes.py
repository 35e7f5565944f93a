"""How much of the suite runs, how large tests are and how patient.

Tests marked `heavy` run with ACE_TEST_HEAVY=1 only, which .ci/run and `make test HEAVY=1` set. What takes
long even there is small, full with ACE_TEST_LONG=1, which .ci/long sets. No test depends on how fast the
machine is: where something has to end, it waits `PATIENT` seconds before it calls that a hang.
"""

from __future__ import annotations

import os

__all__ = ["HEAVY", "LONG", "PATIENT", "sized"]

LONG = os.environ.get("ACE_TEST_LONG") == "1"
HEAVY = LONG or os.environ.get("ACE_TEST_HEAVY") == "1"
PATIENT = 600.0


def sized(gate: int, full: int) -> int:
    """Return the number for this run."""
    return full if LONG else gate
