"""What a playbook has been worth: the rate of success, and the lift of its unproven bullets."""

from __future__ import annotations

import pytest

from ace_graph.memory import Access, PlaybookUsage, Snapshot, Trial, effectiveness_of


def test_the_improvement_is_the_success_with_bullets_less_that_without() -> None:
    access = Access(usage={"default": PlaybookUsage(12, 10, 8, None)}, trial=Trial(8, 2, 5, 5))
    worth = effectiveness_of(Snapshot(access=access))
    assert (worth.usage_count, worth.success_rate) == (12, 0.8)
    assert worth.avg_improvement == pytest.approx(0.3)
    assert effectiveness_of(Snapshot(access=access), "ada/api").avg_improvement is None
    assert effectiveness_of(Snapshot()).avg_improvement is None
