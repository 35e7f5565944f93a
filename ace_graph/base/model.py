"""What every value that comes from a file, a store or a caller is made of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """A value that never changes; unknown fields are refused.

    Its validator is built at its first use, so that importing many such classes costs little.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
