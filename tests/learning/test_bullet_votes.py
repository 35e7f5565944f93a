"""Votes from evidence: which judgement of a source counts."""

from __future__ import annotations

from ace_graph.learning import judge_bullets
from ace_graph.memory import Evidence

KNOWN = Evidence(source="evaluator", verdict="failure")
UNKNOWN = Evidence(source="evaluator", verdict="unknown")


def test_an_unknown_verdict_beside_a_known_one_decides_nothing() -> None:
    for evidence in ([KNOWN, UNKNOWN], [UNKNOWN, KNOWN]):
        [vote] = judge_bullets("t", evidence, injected=["a"], cited=["a"])
        assert (vote.source, vote.verdict, vote.bullet_ids) == ("evaluator", "failure", ("a",))


def test_an_unknown_verdict_alone_is_no_vote() -> None:
    assert judge_bullets("t", [UNKNOWN], injected=["a"], cited=["a"]) == []
