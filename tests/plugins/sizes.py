"""The size of a test that takes long: small in the gate, full with ACE_TEST_HEAVY=1, which .ci/long sets."""

from __future__ import annotations

import os

__all__ = ["HEAVY", "sized"]

HEAVY = "ACE_TEST_HEAVY" in os.environ


def sized(gate: int, full: int) -> int:
    """Return the number for this run."""
    return full if HEAVY else gate
