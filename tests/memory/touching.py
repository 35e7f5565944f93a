"""Commits that change no bullet, as far as the access part follows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date

from ace_graph.memory import Access, TurnRecord, Verdict, touched
from ace_graph.memory.delta import Effect
from ace_graph.testing.conformance import NOON


def touch(
    access: Access,
    ids: Iterable[str] = (),
    record: TurnRecord | None = None,
    *,
    verdicts: Mapping[str, Verdict] | None = None,
    followed: Collection[str] = (),
    on: date | None = None,
) -> Access:
    effect = Effect(op_id="op", now=NOON, touched=tuple(ids))
    return touched(access, effect, record, verdicts or {}, followed=followed, on=on)
