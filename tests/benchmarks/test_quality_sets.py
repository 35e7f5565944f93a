"""The sets of the quality benchmarks are sound, and their methods and figures count right."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from ace_graph.memory import Bullet
from benchmarks.quality.duplicates.make_pairs import make_pairs
from benchmarks.quality.duplicates.methods import METHODS, semantic_methods
from benchmarks.quality.duplicates.metrics import Judged
from benchmarks.quality.duplicates.pairs import APART, PAIRS, PARAPHRASE, SAME, Pair, part_of, read, seed_of
from benchmarks.quality.duplicates.rewording import fillers, numbers, typos, units
from benchmarks.quality.retrieval.cases import (
    LEARNERS,
    Case,
    Question,
    foreign_cases,
    read_case,
    read_cases,
    united,
)
from benchmarks.quality.retrieval.methods import WAYS, Shown, semantic_ways
from benchmarks.quality.retrieval.metrics import Answered, answer
from tests.plugins.sizes import PATIENT
from tests.plugins.warm_python import BYTECODE

ROOT = Path(__file__).resolve().parents[2]


class LetterPairs(Embeddings):
    """Counts of letter pairs as vectors: enough for the paths that need a model."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        counts = Counter(ord(a) * 31 % 64 ^ ord(b) % 64 for a, b in pairwise(text))
        return [float(counts[place]) for place in range(64)]


def pair(category: str, a: str, b: str, rival: str = "no") -> Pair:
    assert rival in ("yes", "no")
    return Pair("tuning", category, "yes" if rival == "yes" else "no", "written", seed_of(a), a, b)


def test_the_committed_pairs_are_what_the_seeds_give() -> None:
    assert make_pairs() == read(PAIRS)


def test_the_set_is_large_enough_in_every_category() -> None:
    pairs = read()
    counts = Counter((pair.category, pair.part) for pair in pairs)
    assert len(pairs) >= 1_000
    assert len([pair for pair in pairs if pair.origin == "written"]) >= 200
    assert (
        min(counts[category, part] for category in (*SAME, *APART) for part in ("tuning", "held-out")) >= 40
    )
    assert {category for category, _ in counts} == {*SAME, *APART, PARAPHRASE}


def test_no_pair_comes_twice_or_compares_a_text_with_itself() -> None:
    pairs = read()
    assert len({(pair.a, pair.b) for pair in pairs}) == len(pairs)
    assert [pair for pair in pairs if pair.a == pair.b] == []


def test_no_seed_is_in_both_parts() -> None:
    parts: dict[str, set[str]] = {}
    for each in read():
        assert (each.part, each.seed) == (part_of(each.a), seed_of(each.a))
        parts.setdefault(each.a, set()).add(each.part)
    assert [text for text, found in parts.items() if len(found) > 1] == []


def test_no_filler_of_one_part_is_used_in_the_other() -> None:
    text = "Peel the onion before cutting it."
    mine = {other.lower() for other in fillers(text, "tuning", command=True)}
    yours = {other.lower() for other in fillers(text, "held-out", command=True)}
    assert mine
    assert yours
    assert mine.isdisjoint(yours)


@pytest.mark.parametrize("category", [*SAME, *APART, PARAPHRASE])
def test_only_what_differs_in_a_claim_can_contradict(category: str) -> None:
    rivals = {pair.rival for pair in read() if pair.category == category}
    if category in SAME or category in (PARAPHRASE, "subject"):
        assert rivals == {"no"}
    else:
        assert rivals - {"no"} in ({"yes"}, {"-"})


def test_changes_by_rule_change_what_they_say() -> None:
    text = "Boil the noodles for 9 minutes in salted water."
    assert numbers(text) == [text.replace("9", "10"), text.replace("9", "90")]
    assert [other.replace("minutes", "") != text for other in units(text)] == [True]
    assert all(len(other.split()) == len(text.split()) for other in typos(text))
    assert typos(text) == typos(text) != [text]


def test_every_method_judges_every_pair() -> None:
    pairs = read()[::97]
    for method in {**METHODS, **semantic_methods(LetterPairs())}.values():
        assert len(method(pairs)) == len(pairs)


def test_methods_do_what_they_are_named_for() -> None:
    case = pair("format", "Check the SEAL", "check  the seal")
    order = pair("order", "Check the seal first of all", "First of all check the seal")
    number = pair("number", "Wait 30 seconds before a call", "Wait 40 seconds before a call", "yes")
    found = {name: method([case, order, number]) for name, method in METHODS.items()}
    assert found["content hash (document 003)"] == ["same", "different", "different"]
    assert found["token sort ratio > 0.9"] == ["same", "same", "same"]
    assert found["ours"] == ["same", "same", "rival"]
    assert found["ours, in a turn"] == ["same", "same", "different"]
    assert semantic_methods(LetterPairs())["cosine > 0.85"]([case]) == ["same"]


def test_shares_and_f1_are_counted_right() -> None:
    pairs = [pair("typo", "a", "b"), pair("typo", "c", "d"), pair("number", "e", "f", "yes")]
    judged = Judged(pairs, ["same", "different", "same"])
    assert judged.merged("typo") == (1, 2)
    assert judged.f1() == pytest.approx(0.5)
    assert judged.wrongly_merged("number") == [pairs[2]]
    assert Judged(pairs, ["rival", "same", "rival"]).rivals("number") == (1, 1)
    assert Judged(pairs, ["rival", "same", "rival"]).false_rivals() == (1, 2)


def test_guarded_pairs_never_merge_and_f1_stays_above_the_goal() -> None:
    pairs = read()
    judged = Judged(pairs, METHODS["ours"](pairs))
    assert judged.wrongly_merged("number", "unit", "negation") == []
    assert judged.f1() >= 0.95
    found, typed = judged.merged("typo")
    assert found / typed >= 0.94


def test_the_outcome_of_a_pair_does_not_depend_on_its_order() -> None:
    pairs = read()
    turned = [replace(pair, a=pair.b, b=pair.a) for pair in pairs]
    assert METHODS["ours"](pairs) == METHODS["ours"](turned)


def test_the_retrieval_set_is_large_and_mixed_enough() -> None:
    cases = read_cases()
    asked = [(case, question) for case in cases for question in case.questions]
    assert sum(len(case.playbook.entries) for case in cases) >= 300
    assert sum(bool(question.relevant) for _, question in asked) >= 200
    assert sum(not question.relevant for _, question in asked) >= 60
    assert sum(question.chatty for _, question in asked) >= 40
    languages = {"german", "french", "spanish", "chinese"}
    assert {case.name.partition("_")[0] for case, question in asked if question.foreign} == languages


def test_questions_name_bullets_of_their_learner_and_come_once() -> None:
    for case in read_cases():
        assert len({question.text for question in case.questions}) == len(case.questions)
        for question in case.questions:
            assert question.relevant <= case.playbook.entries.keys()
        assert len({bullet.content for bullet in case.playbook.bullets()}) == len(case.playbook.entries)


def test_all_playbooks_can_be_asked_as_one() -> None:
    cases = read_cases()
    case = united(cases)
    assert len(case.playbook.entries) == sum(len(each.playbook.entries) for each in cases)
    texts = {b.content for b in case.playbook.bullets() if b.id in case.questions[-1].relevant}
    last = cases[-1]
    asked = next(q for q in reversed(last.questions) if q.relevant)
    assert texts == {last.playbook.entries[key].content for key in asked.relevant}


def test_a_line_that_is_neither_bullet_nor_question_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "nobody.txt"
    file.write_text("- One\n? About one\n?2 too many for now\nwhat is this\n", "utf-8")
    with pytest.raises(ValueError, match="neither a bullet nor a question"):
        read_case(file)


def test_a_folder_of_playbooks_gives_further_cases(tmp_path: Path) -> None:
    lines = [f"[shr-{n:05d}] Keep shelf {n} for jars of fruit number {n} from farm {n}" for n in range(60)]
    (tmp_path / "large.txt").write_text("## STRATEGIES\n" + "\n".join(lines) + "\n", "utf-8")
    (tmp_path / "small.txt").write_text("## STRATEGIES\n[shr-00001] One bullet\n", "utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    (case,) = foreign_cases(tmp_path)
    assert (case.name, len(case.playbook.entries)) == ("large.txt", 60)
    assert any(not question.relevant for question in case.questions)
    assert foreign_cases(tmp_path)[0].questions == case.questions


def test_recall_and_what_is_wrongly_injected_are_counted_right() -> None:
    case = Case("x", read_case(LEARNERS / "runner.txt").playbook, ())
    asked, nothing = Question("q", frozenset({"a", "b"})), Question("n", frozenset())
    found = Answered([(case, asked, Shown(("a", "z"), 10)), (case, nothing, Shown(("y",), 30))])
    assert (found.recall(), found.first(), found.unrelated(), found.tokens()) == (0.5, 1.0, 1.0, 10)
    assert found.wrongly() == (1.0, 1.0)


def test_retrieval_finds_relevant_bullets_and_injects_few_others() -> None:
    cases = [case for case in read_cases() if case.name in ("runner", "french_gardener")]
    ours, plain = answer(cases, WAYS["ours"]), answer(cases, WAYS["plain BM25, 10 best"])
    assert ours.recall() > 0.8
    mine, theirs = ours.wrongly(), plain.wrongly()
    assert mine is not None
    assert theirs is not None
    assert mine < theirs
    assert answer(cases, WAYS["whole playbook"]).tokens() > 5 * ours.tokens()


def test_ways_with_an_embedding_model_show_bullets() -> None:
    (case,) = [case for case in read_cases() if case.name == "runner"]
    for way in semantic_ways(LetterPairs()).values():
        shown = way(case, case.questions[0])
        assert shown.ids
        assert shown.tokens > 0
        assert all(isinstance(case.playbook.entries[key], Bullet) for key in shown.ids)


def test_the_benchmarks_can_be_run_apart_and_a_wrong_name_is_refused() -> None:
    def run(*names: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "benchmarks.quality", *names],
            cwd=ROOT,
            env={**BYTECODE, "QUICK": "1", "PYTHONPATH": str(ROOT)},
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENT,
        )

    done = run("retrieval")
    assert done.returncode == 0, done.stderr
    assert "recall@10" in done.stdout
    assert "typo" not in done.stdout
    assert run("speed").returncode == 2
