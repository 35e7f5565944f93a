"""When a statement is true: "since May", "until Friday", "from Monday on", "a test on Friday".

A date is resolved against the day on which it was said, where the speaker is. What the words leave open stays
unknown: two dates for one end, a day that comes every week, a date that does not exist. The words are in the
tables `dates` of the languages. Reading is linear in the text.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from ace_graph.memory.delta.operations import Add
from ace_graph.memory.languages.detection import spoken_language
from ace_graph.memory.languages.tables import SPACELESS, languages, listed, table

_READ_CHARS = 500
"""So much of a statement is read."""
_WORD = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,4}|[^\W\d_]+(?:[-.][^\W\d_]+)*|[^\w\s]")
_SPACELESS_WORD = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,4}|\S")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er|º|ª)\b")
_UNITS = ("day", "week", "month", "year")
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_MOST_AGO = 1_000


class Validity(NamedTuple):
    """The first and the last day on which something is true, as far as it says so."""

    first: date | None = None
    last: date | None = None


def with_validity(add: Add, words: str, today: date) -> Add:
    """Return what keeps these words of a learner, with the days on which they say that it is true."""
    first, last = validity_of(words, today)
    found = first is not None or last is not None
    return add.model_copy(update={"valid_from": first, "valid_until": last}) if found else add


class _Item(NamedTuple):
    """What a phrase may mean, each with a number: which weekday or month it is, or how many."""

    meanings: Mapping[str, int]
    day: date | None = None


class _Period(NamedTuple):
    """The days that a date names, and where it ends; `sort` is how it was named."""

    first: date
    last: date
    end: int
    sort: Literal["day", "weekday", "relative", "period"]


_Phrases = Mapping[str, Sequence[tuple[tuple[str, ...], Mapping[str, int]]]]
"""The phrases of one language and their meanings: by their first word, the longest first."""


def validity_of(text: str, today: date, language: str | None = None) -> Validity:
    """Return when a statement made on `today` is true; its language is guessed where none is given."""
    read = text[:_READ_CHARS]
    spoken = language or spoken_language(read)
    if spoken not in languages("dates"):
        return Validity()
    items = list(_items(read, spoken))
    found = Validity() if all(not item.meanings for item in items) else _Reader(items, today).validity()
    if found.first is not None and found.last is not None and found.last < found.first:
        return Validity()
    return found


def days_named(text: str, today: date, *, ahead: bool) -> list[tuple[date, date]]:
    """Return the first and the last day of each date that a text names; `ahead` as in "until"."""
    read = text[:_READ_CHARS]
    spoken = spoken_language(read)
    if spoken not in languages("dates"):
        return []
    return _Reader(list(_items(read, spoken)), today).named(ahead=ahead)


class _Reader:
    """Reads the items of one statement."""

    def __init__(self, items: Sequence[_Item], today: date) -> None:
        self._items = items
        self._today = today

    def validity(self) -> Validity:
        first, last = set[date](), set[date]()
        place = 0
        while place < len(self._items):
            place = self._read(place, first, last)
        if len(first) > 1 or len(last) > 1:
            return Validity()
        return Validity(next(iter(first), None), next(iter(last), None))

    def named(self, *, ahead: bool) -> list[tuple[date, date]]:
        found, place = list[tuple[date, date]](), 0
        while place < len(self._items):
            period = self._period(place, ahead=ahead)
            found += [(period.first, period.last)] if period is not None else []
            place = period.end if period is not None else place + 1
        return found

    def _read(self, place: int, first: set[date], last: set[date]) -> int:
        """Add the days that the words at this place tell, and return the place to go on from."""
        if self._has(place, "from") and (begin := self._period(place + 1, ahead=True)) is not None:
            end = self._period(begin.end + 1, ahead=True) if self._is_to(begin.end) else None
            if end is None:
                first.add(begin.first)
                return begin.end
            if "weekday" not in (begin.sort, end.sort):  # from Monday to Friday is every week
                first.add(begin.first)
                last.add(end.last)
            return end.end
        if self._has(place, "since") and (begin := self._period(place + 1, ahead=False)) is not None:
            first.add(begin.first)
            return begin.end
        if self._has(place, "until") and (end := self._period(place + 1, ahead=True)) is not None:
            last.add(end.last)
            return end.end
        if (named := self._period(place, ahead=True)) is not None:
            if self._has(named.end, "until_after"):
                last.add(named.last)
            elif self._has(named.end, "since_after"):
                first.add((self._period(place, ahead=False) or named).first)
            elif self._tells("begun"):
                past = self._period(place, ahead=False) or named
                first.update({past.first} if past.first <= self._today else ())
            elif self._happens_once(named):
                last.add(named.last)
            return named.end
        return place + 1

    def _happens_once(self, named: _Period) -> bool:
        """Whether a day that no word stands before ends what is said: that of a test, or one to come."""
        if named.last < self._today or named.sort == "period" or self._tells("recurring"):
            return False
        return self._tells("events") or (named.sort == "relative" and named.first > self._today)

    def _is_to(self, place: int) -> bool:
        return self._has(place, "to") or self._has(place, "until")

    def _tells(self, meaning: str) -> bool:
        return any(meaning in item.meanings for item in self._items)

    def _has(self, place: int, *meanings: str) -> bool:
        return place < len(self._items) and any(each in self._items[place].meanings for each in meanings)

    def _value(self, place: int, meaning: str) -> int | None:
        return self._items[place].meanings.get(meaning) if place < len(self._items) else None

    def _unit(self, place: int) -> str | None:
        return next((unit for unit in _UNITS if self._has(place, unit)), None)

    def _past_fill(self, place: int) -> int:
        while self._has(place, "fill"):
            place += 1
        return place

    def _period(self, place: int, *, ahead: bool) -> _Period | None:
        """Return the date at this place; of those that come back the next one with `ahead`, else the last."""
        place = self._past_fill(place)
        if place >= len(self._items):
            return None
        exact = self._items[place].day
        if exact is not None:
            return _Period(exact, exact, place + 1, "day")
        for name, days in (("today", 0), ("yesterday", -1), ("tomorrow", 1)):
            if self._has(place, name):
                day = self._today + timedelta(days=days)
                return _Period(day, day, place + 1, "relative")
        readers: tuple[Callable[[int, bool], _Period | None], ...] = (
            self._relative,
            self._distant,
            self._calendar,
        )
        return next((found for read in readers if (found := read(place, ahead)) is not None), None)

    def _relative(self, place: int, _: bool) -> _Period | None:
        """Read "last week", "next Friday", "lundi prochain"."""
        for step, name in ((-1, "last"), (1, "next"), (0, "this")):
            before = self._has(place, name)
            named = self._past_fill(place + 1) if before else place
            if not before and not self._has(place + 1, name):
                continue
            end = named + 1 if before else place + 2
            unit, weekday, month = (
                self._unit(named),
                self._value(named, "weekdays"),
                self._value(named, "months"),
            )
            if weekday is not None:
                ahead = (weekday - self._today.weekday()) % 7
                day = self._today + timedelta(
                    days=(ahead or 7) if step > 0 else ahead if step == 0 else ahead - 7
                )
                return _Period(day, day, end, "relative")
            if month is not None:
                return _Period(*_month(self._year_of(month, step), month), end, "period")
            if unit is not None and unit != "day":
                return _Period(*_unit_around(self._today, unit, step), end, "period")
        return None

    def _year_of(self, month: int, step: int) -> int:
        year, now = self._today.year, self._today.month
        if step == 0:
            return year
        return (year if month < now else year - 1) if step < 0 else (year if month > now else year + 1)

    def _distant(self, place: int, _: bool) -> _Period | None:
        """Read "two weeks ago", "vor zwei Jahren", "in two weeks"."""
        begins = next((name for name in ("ago_before", "ahead") if self._has(place, name)), None)
        at = place + 1 if begins is not None else place
        number = self._value(at, "number") or self._value(at, "numbers")
        unit = self._unit(at + 1)
        if not number or number > _MOST_AGO or unit is None:
            return None
        behind = self._has(at + 2, "ago")
        if begins is None and not behind:
            return None
        count = number if begins == "ahead" and not behind else -number
        return _Period(*_unit_around(self._today, unit, count, exact=True), at + 2 + behind, "relative")

    def _calendar(self, place: int, ahead: bool) -> _Period | None:
        """Read a weekday, a month, a year, or a day of a month."""
        weekday = self._value(place, "weekdays")
        if weekday is not None:
            days = (weekday - self._today.weekday()) % 7
            day = self._today + timedelta(days=days if ahead or not days else days - 7)
            return _Period(day, day, place + 1, "weekday")
        number, month = self._value(place, "number"), self._value(place, "months")
        if month is not None:
            return self._in_month(month, None, place + 1, ahead=ahead)
        if number is None:
            return None
        if _FIRST_YEAR <= number <= _LAST_YEAR:
            return self._in_year(number, place + 1)
        following = self._past_fill(place + 1)
        if (month := self._value(following, "months")) is not None:
            return self._in_month(month, number, following + 1, ahead=ahead)
        return self._with_unit(number, place, ahead=ahead)

    def _in_year(self, year: int, place: int) -> _Period | None:
        """Read what follows a year: nothing, or "年5月3日"."""
        if not self._has(place, "year"):
            return _Period(date(year, 1, 1), date(year, 12, 31), place, "period")
        month = self._value(place + 1, "number")
        if month is not None and self._has(place + 2, "month"):
            return self._day_behind(year, month, place + 3)
        return _Period(date(year, 1, 1), date(year, 12, 31), place + 1, "period")

    def _with_unit(self, number: int, place: int, *, ahead: bool) -> _Period | None:
        """Read "5月3日"."""
        if not self._has(place + 1, "month") or not 1 <= number <= 12:
            return None
        return self._day_behind(self._nearest_year(number, ahead=ahead), number, place + 2)

    def _day_behind(self, year: int, month: int, place: int) -> _Period | None:
        day = self._value(place, "number")
        if day is not None and self._has(place + 1, "day"):
            return _one_day(year, month, day, place + 2)
        return _Period(*_month(year, month), place, "period") if 1 <= month <= 12 else None

    def _in_month(self, month: int, day: int | None, place: int, *, ahead: bool) -> _Period | None:
        """Read what follows a month: a day and a year, or one of them."""
        following = self._past_fill(place)
        number = self._value(following, "number")
        if day is None and number is not None and 1 <= number <= 31:
            day, place = number, following + 1
            following = self._past_fill(place)
            number = self._value(following, "number")
        if number is not None and _FIRST_YEAR <= number <= _LAST_YEAR:
            place = following + 1
        else:
            number = None
        if day is None:
            year = number or self._nearest_year(month, ahead=ahead)
            return _Period(*_month(year, month), place, "period")
        if number is None:
            number = self._today.year
            here = (month, day) if ahead else (self._today.month, self._today.day)
            there = (self._today.month, self._today.day) if ahead else (month, day)
            number += (1 if ahead else -1) * (here < there)
        return _one_day(number, month, day, place)

    def _nearest_year(self, month: int, *, ahead: bool) -> int:
        now = self._today
        return now.year + (month < now.month) if ahead else now.year - (month > now.month)


def _one_day(year: int, month: int, day: int, end: int) -> _Period | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None  # there is no 31 February
    return _Period(found, found, end, "day")


def _month(year: int, month: int) -> tuple[date, date]:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _unit_around(today: date, unit: str, count: int, *, exact: bool = False) -> tuple[date, date]:
    """Return the unit that is `count` units away from today; of days and weeks the day with `exact`."""
    if unit == "day" or (unit == "week" and exact):
        day = today + timedelta(days=count * (7 if unit == "week" else 1))
        return day, day
    if unit == "week":
        monday = today + timedelta(days=7 * count - today.weekday())
        return monday, monday + timedelta(days=6)
    if unit == "month":
        months = today.year * 12 + today.month - 1 + count
        return _month(months // 12, months % 12 + 1)
    year = min(max(today.year + count, 1), 9998)
    return date(year, 1, 1), date(year, 12, 31)


def _items(text: str, language: str) -> Iterator[_Item]:
    """Yield what the text says, phrase by phrase; words that no table has mean nothing."""
    known = _phrases(language)
    pattern = _SPACELESS_WORD if language in SPACELESS else _WORD
    found = pattern.findall(_ORDINAL.sub("", text.casefold()))
    place = 0
    while place < len(found):
        word = found[place]
        for phrase, meanings in known.get(word, ()):
            if tuple(found[place : place + len(phrase)]) == phrase:
                yield _Item(meanings)
                place += len(phrase)
                break
        else:
            yield _number(word)
            place += 1


def _number(word: str) -> _Item:
    if word.isdecimal() and word.isascii():
        return _Item(MappingProxyType({"number": int(word)}))
    if word[0].isascii() and word[0].isdecimal():
        try:
            return _Item(MappingProxyType({"exact": 1}), date.fromisoformat(word))
        except ValueError:
            return _Item(_NOTHING)
    return _Item(_NOTHING)


_NOTHING: Mapping[str, int] = MappingProxyType({})


@cache
def _phrases(language: str) -> _Phrases:
    meanings: dict[tuple[str, ...], dict[str, int]] = {}
    pattern = _SPACELESS_WORD if language in SPACELESS else _WORD
    for name, text in table(language, "dates").items():
        counted = name in ("weekdays", "months", "numbers")
        lines = text.splitlines() if counted else [text]
        for number, line in enumerate(lines, counted and name != "weekdays"):
            for phrase in listed(line):
                parts = tuple(pattern.findall(phrase.replace("_", " ").casefold()))
                if parts:
                    meanings.setdefault(parts, {})[name] = number
    by_first: dict[str, list[tuple[tuple[str, ...], Mapping[str, int]]]] = {}
    for parts, named in meanings.items():
        by_first.setdefault(parts[0], []).append((parts, MappingProxyType(named)))
    for found in by_first.values():
        found.sort(key=lambda one: len(one[0]), reverse=True)
    return MappingProxyType(by_first)
