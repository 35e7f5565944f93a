"""When a statement is true: dates resolved against the day on which it was said, in ten languages."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.learning.statements.validity import Validity, validity_of

FRIDAY = date(2026, 11, 27)
SAID = [
    ("english", "I have lived in Rome since May", "2026-05-01 -"),
    ("english", "I work at Bosch until Friday", "- 2026-11-27"),
    ("english", "I have a test on Friday", "- 2026-11-27"),
    ("english", "I have a test on Monday", "- 2026-11-30"),
    ("english", "From Monday on I work from home", "2026-11-30 -"),
    ("english", "I work from Monday to Friday", "- -"),
    ("english", "I lived in Berlin from 2019 to 2022", "2019-01-01 2022-12-31"),
    ("english", "I am on holiday from 3 December until 10 December", "2026-12-03 2026-12-10"),
    ("english", "I moved to Rome last week", "2026-11-16 -"),
    ("english", "I moved to Rome two weeks ago", "2026-11-13 -"),
    ("english", "My exam is tomorrow", "- 2026-11-28"),
    ("english", "My birthday is on 3 December", "- -"),
    ("english", "I play football on Fridays", "- -"),
    ("english", "since 31 February I swim", "- -"),
    ("english", "I have been vegan since 2019", "2019-01-01 -"),
    ("english", "until last year I lived in Oslo", "- 2025-12-31"),
    ("english", "My deadline is next Friday", "- 2026-12-04"),
    ("english", "I fly to Rome in two weeks", "- 2026-12-11"),
    ("english", "I started at Siemens in March 2025", "2025-03-01 -"),
    ("english", "since May 3rd, 2024 I run", "2024-05-03 -"),
    ("english", "I may be late since you asked", "- -"),
    ("english", "I live in Rome since I was five", "- -"),
    ("english", "As of 2026-01-15 I study physics", "2026-01-15 -"),
    ("english", "My appointment is on December 3", "- 2026-12-03"),
    ("english", "Use metric units until the end", "- -"),
    ("english", "I have a meeting today", "- 2026-11-27"),
    ("english", "I have two cats", "- -"),
    ("english", "I lived there until 5", "- -"),
    ("german", "Ich wohne seit Mai in Rom", "2026-05-01 -"),
    ("german", "Ich habe am Montag eine Prüfung", "- 2026-11-30"),
    ("german", "Ab Montag arbeite ich zu Hause", "2026-11-30 -"),
    ("german", "Bis letztes Jahr wohnte ich in Oslo", "- 2025-12-31"),
    ("german", "Ich bin vor zwei Jahren nach Rom gezogen", "2024-01-01 -"),
    ("german", "Ich habe morgen einen Test", "- 2026-11-28"),
    ("german", "Seit dem 3. Mai 2024 laufe ich", "2024-05-03 -"),
    ("german", "Ich arbeite von 2019 bis 2022 bei Bosch", "2019-01-01 2022-12-31"),
    ("german", "Ich bin bis nächsten Freitag krank", "- 2026-12-04"),
    ("german", "Montags habe ich Sport", "- -"),
    ("german", "Guten Morgen, ich bin Ada", "- -"),
    ("french", "J'habite à Lyon depuis mai", "2026-05-01 -"),
    ("french", "À partir de lundi je travaille", "2026-11-30 -"),
    ("french", "Je suis malade jusqu'à vendredi", "- 2026-11-27"),
    ("french", "J'ai un examen lundi prochain", "- 2026-11-30"),
    ("french", "J'ai déménagé il y a deux ans", "2024-01-01 -"),
    ("french", "jusqu'à l'année dernière", "- 2025-12-31"),
    ("spanish", "Vivo en Roma desde mayo", "2026-05-01 -"),
    ("spanish", "A partir del lunes trabajo en casa", "2026-11-30 -"),
    ("spanish", "Estoy enfermo hasta el viernes", "- 2026-11-27"),
    ("spanish", "Tengo un examen el lunes", "- 2026-11-30"),
    ("spanish", "Me mudé hace dos años", "2024-01-01 -"),
    ("spanish", "hasta el año pasado viví en Oslo", "- 2025-12-31"),
    ("italian", "Vivo a Roma da maggio", "2026-05-01 -"),
    ("italian", "A partire da lunedì lavoro", "2026-11-30 -"),
    ("italian", "Sono malato fino a venerdì", "- 2026-11-27"),
    ("italian", "Ho un esame il lunedì prossimo", "- 2026-11-30"),
    ("italian", "Mi sono trasferito due anni fa", "2024-01-01 -"),
    ("italian", "fino all'anno scorso", "- 2025-12-31"),
    ("portuguese", "Moro em Roma desde maio", "2026-05-01 -"),
    ("portuguese", "A partir de segunda-feira trabalho", "2026-11-30 -"),
    ("portuguese", "Estou doente até sexta-feira", "- 2026-11-27"),
    ("portuguese", "Tenho uma prova na segunda-feira", "- 2026-11-30"),
    ("portuguese", "Mudei há dois anos", "2024-01-01 -"),
    ("dutch", "Ik woon sinds mei in Rome", "2026-05-01 -"),
    ("dutch", "Vanaf maandag werk ik thuis", "2026-11-30 -"),
    ("dutch", "Ik ben ziek tot vrijdag", "- 2026-11-27"),
    ("dutch", "Ik heb maandag een toets", "- 2026-11-30"),
    ("dutch", "Ik ben twee jaar geleden verhuisd", "2024-01-01 -"),
    ("dutch", "tot vorig jaar woonde ik in Oslo", "- 2025-12-31"),
    ("russian", "Я живу в Риме с мая", "2026-05-01 -"),
    ("russian", "Начиная с понедельника я работаю дома", "2026-11-30 -"),
    ("russian", "Я болею до пятницы", "- 2026-11-27"),
    ("russian", "У меня экзамен в понедельник", "- 2026-11-30"),
    ("russian", "Я переехал два года назад", "2024-01-01 -"),
    ("russian", "до прошлого года я жил в Осло", "- 2025-12-31"),
    ("chinese", "我自五月以来住在罗马", "2026-05-01 -"),
    ("chinese", "从周一开始我在家工作", "2026-11-30 -"),
    ("chinese", "我住在柏林直到去年", "- 2025-12-31"),
    ("chinese", "我2026年12月3日有考试", "- 2026-12-03"),
    ("chinese", "我两年前搬到罗马", "2024-01-01 -"),
    ("chinese", "我明天有考试", "- 2026-11-28"),
    ("chinese", "我生病到周五为止", "- 2026-11-27"),
    ("japanese", "5月からローマに住んでいます", "2026-05-01 -"),
    ("japanese", "月曜日から在宅勤務です", "2026-11-23 -"),
    ("japanese", "金曜日まで休みです", "- 2026-11-27"),
    ("japanese", "2年前に引っ越しました", "2024-01-01 -"),
    ("japanese", "明日試験があります", "- 2026-11-28"),
    ("japanese", "2024年5月3日から走っています", "2024-05-03 -"),
    ("japanese", "去年までオスロに住んでいた", "- 2025-12-31"),
]
"""A language, what is said on Friday, 27 November 2026, the first day and the last; - where it says none."""


def test_each_statement_says_when_it_is_true() -> None:
    told = {text: validity_of(text, FRIDAY, language) for language, text, _ in SAID}
    wrong = {
        text: (wanted, f"{found.first or '-'} {found.last or '-'}")
        for (_, text, wanted), found in zip(SAID, told.values(), strict=True)
        if wanted != f"{found.first or '-'} {found.last or '-'}"
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "today", "first", "last"),
    [
        ("I live in Rome since May", date(2026, 5, 1), date(2026, 5, 1), None),
        ("I live in Rome since May", date(2026, 4, 30), date(2025, 5, 1), None),
        ("I am ill until Friday", date(2026, 11, 28), None, date(2026, 12, 4)),
        ("I have been ill since Friday", date(2026, 11, 28), date(2026, 11, 27), None),
        ("I have a test on 29 February 2028", FRIDAY, None, date(2028, 2, 29)),
        ("I have a test on 29 February 2027", FRIDAY, None, None),
        ("I have a test on January 5", FRIDAY, None, date(2027, 1, 5)),
        ("I work here since December 5", FRIDAY, date(2025, 12, 5), None),
        ("I am on leave from December 2026 until January 2027", FRIDAY, date(2026, 12, 1), date(2027, 1, 31)),
        ("I am ill until yesterday", date(2026, 1, 1), None, date(2025, 12, 31)),
        ("I lived here from 2022 to 2019", FRIDAY, None, None),
        ("I live here since 2019, since 2020 at least", FRIDAY, None, None),
    ],
)
def test_the_nearest_day_that_fits_is_meant(
    text: str, today: date, first: date | None, last: date | None
) -> None:
    assert validity_of(text, today, "english") == Validity(first, last)


def test_a_language_without_a_table_and_a_text_without_a_date_say_nothing() -> None:
    assert validity_of("ผมอยู่กรุงเทพตั้งแต่เดือนพฤษภาคม", FRIDAY) == Validity()
    assert validity_of("", FRIDAY) == Validity()
    assert validity_of("since " * 5_000, FRIDAY) == Validity()


_WORDS = """since until from to in ago last next May 3 31 2025 two weeks Friday""".split()  # noqa: SIM905


@given(st.lists(st.sampled_from(_WORDS)), st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_no_words_and_no_day_break_it_and_no_end_is_before_the_beginning(
    words: list[str], today: date
) -> None:
    found = validity_of(" ".join(words), today, "english")
    assert found.first is None or found.last is None or found.first <= found.last
