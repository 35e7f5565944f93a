"""The stamps of use in an effect, with which those of a commit can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Uses", "differences", "restore_stamps"]


class Uses(BaseModel):
    """An access clock, and stamps by bullet id; 0 stands for a bullet without a stamp."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    clock: Annotated[int, Field(ge=0)] = 0
    stamps: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)


def differences(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return the stamps of `before` that are different in `after`; 0 for those that only `after` has."""
    return {key: before.get(key, 0) for key in {**before, **after} if before.get(key) != after.get(key)}


def restore_stamps(stamps: dict[str, int], earlier: Mapping[str, int]) -> None:
    """Set the stamps to their earlier values, in place."""
    for key, stamp in earlier.items():
        if stamp:
            stamps[key] = stamp
        else:
            stamps.pop(key, None)
