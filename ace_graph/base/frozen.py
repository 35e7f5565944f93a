"""The base of values: a model whose fields never change, and that refuses fields which it does not know."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Raises `pydantic.ValidationError` for an unknown field, and where a field is set.

    A class builds its validator at first use, so that importing many costs little.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
