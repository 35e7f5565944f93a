"""Changes of the code that no test noticed once: each makes the test fail that was written for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.plugins.heavy import some_heavy
from tests.plugins.sizes import LONG, PATIENT

MUTANTS: tuple[tuple[str, str, str, str], ...] = (
    (
        "ace_graph/playbooks/proposing.py",
        "FEWEST = 5",
        "FEWEST = 4",
        "tests/playbooks/test_proposals.py::test_what_four_have_found_stays_with_them_and_what_five_have_is_proposed",
    ),
    (
        "memory/rights.py",
        "each.at > declined",
        "each.at >= declined",
        "tests/memory/sharing/test_right.py::test_what_was_granted_until_the_user_declined_is_declined",
    ),
    (
        "memory/delta/consolidate.py",
        "[bullet.content for bullet in (*found, *operation.originals)]",
        "[bullet.content for bullet in found]",
        "tests/memory/delta/test_consolidate.py::test_what_an_original_said_is_missed_though_the_source_lost_it",
    ),
    (
        "memory/confidence.py",
        "HALF_LIFE_DAYS = 90.0",
        "HALF_LIFE_DAYS = 60.0",
        "tests/memory/views/test_confidence.py::test_evidence_halves_every_90_days",
    ),
    (
        "memory/evidence.py",
        '"partial": 0.5',
        '"partial": 0.6',
        "tests/memory/views/test_confidence.py::test_a_partial_run_is_half_a_success",
    ),
    (
        "ace_graph/server/auth.py",
        "None if self.teams is None else frozenset()",
        "self.teams",
        "tests/server/test_operators.py::test_an_operators_own_teams_open_nothing_in_a_learners_place",
    ),
    (
        "ace_graph/server/rate_limit.py",
        "left + (now - at) * self._per_second",
        "left + (now - at) * self._per_second * 2",
        "tests/server/test_limits.py::test_a_bucket_refills_evenly_and_never_beyond_its_size",
    ),
    (
        "memory/sharing.py",
        "        or screen_bullet(bullet) is not None\n",
        "",
        "tests/memory/sharing/test_outgoing.py::test_a_bullet_stays_for_each_of_these_reasons_alone",
    ),
    (
        "memory/delta/undo.py",
        "(*operation.after, *operation.before)",
        "operation.after",
        "tests/memory/delta/test_consolidate.py::test_undo_names_what_came_back_without_a_link",
    ),
    (
        "memory/delta/resolve.py",
        "(is_undo and not only_undos)",
        "False",
        "tests/memory/delta/test_consolidate.py::test_undo_comes_first_in_its_delta",
    ),
)
TRIED = MUTANTS if LONG else MUTANTS[:4]
"""A start of Python each: `make test` tries the first, .ci/long them all."""
IDS = [mutant[1].strip() for mutant in TRIED]


def tried(file: str, old: str, new: str, test: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.benchmarks.mutant_by_hand", file, old, new, test]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENT)


@pytest.mark.parametrize(
    ("file", "old", "new", "test"),
    some_heavy(TRIED, TRIED[0].__eq__),
    ids=IDS,
)
def test_a_change_by_hand_makes_its_test_fail(file: str, old: str, new: str, test: str) -> None:
    done = tried(file, old, new, test)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "1 failed" in done.stdout


def test_without_a_change_it_passes() -> None:
    file, old, _, test = MUTANTS[1]
    done = tried(file, old, old, test)
    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr
