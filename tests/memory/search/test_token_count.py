"""The token estimate is above what real tokenisers count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory.search import estimate_tokens

# The numbers are the counts of the vocabularies cl100k and o200k, taken once with their own tokeniser.
COUNTED = [
    ("Find the least common denominator before adding fractions with different denominators.", 13),
    ("- [fil-00042] List the directory before reading files (helpful=5, harmful=0)", 23),
    (
        "EBITDA = earnings before interest, taxes, depreciation and amortization; "
        "EV/EBITDA is a multiple of it.",
        26,
    ),
    (
        "def retry(call, attempts=3):\n    for attempt in range(attempts):\n        try:\n"
        "            return call()\n        except TimeoutError:\n            sleep(2 ** attempt)\n",
        36,
    ),
    ("SELECT name, SUM(amount) AS total FROM payments WHERE created_at >= '2026-01-01' GROUP BY name;", 26),
    ('{"learner_id": "alice", "bullets": [{"id": "str-00001", "helpful": 12}], "access_clock": 481}', 35),
    ("ShareBasedCompensationArrangementByShareBasedPaymentAwardOptionsGrantsInPeriodGross", 18),
    ("两个分数相加之前,先找到最小公分母,然后把分子相加。学生更喜欢图片。", 37),
    ("分数を足す前に、まず最小公倍数を見つけて通分します。生徒は図を好みます。", 37),
    ("분수를 더하기 전에 먼저 최소공배수를 찾으세요. 학생은 그림을 좋아합니다.", 39),
    ("Перед сложением дробей найдите наименьший общий знаменатель.", 26),
    ("Vor dem Addieren der Brüche den kleinsten gemeinsamen Hauptnenner bestimmen.", 22),
]


@pytest.mark.parametrize(("text", "real"), COUNTED)
def test_the_estimate_is_above_the_real_count_but_not_by_much(text: str, real: int) -> None:
    assert real <= estimate_tokens(text) <= 3 * real


def test_an_empty_text_has_no_tokens() -> None:
    assert estimate_tokens("") == 0


@given(st.text(max_size=100), st.text(max_size=100))
def test_a_longer_text_never_costs_less(a: str, b: str) -> None:
    assert estimate_tokens(f"{a} {b}") >= max(estimate_tokens(a.strip()), estimate_tokens(b.strip()))


def test_a_long_text_costs_the_sum_of_its_lines() -> None:
    line = "Always look at the specification first"
    assert estimate_tokens("\n".join([line] * 1_000)) == 1_000 * estimate_tokens(line) + 999
