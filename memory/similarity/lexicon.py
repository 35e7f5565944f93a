"""The words that decide whether two English texts make the same claim.

Does not: parse. `claims` reads a text with these tables, `guards` compares two readings.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

__all__ = [
    "AMOUNTS",
    "ARTICLES",
    "COPULAS",
    "DIRECTIONS",
    "FILLERS",
    "LABELS",
    "LIGHT",
    "NEGATIONS",
    "PARTICLES",
    "PLACES",
    "SEQUENCE",
    "SUBORDINATE",
    "SUFFICING",
    "forms_of_one_word",
    "groups",
    "number_of",
    "orders",
    "root",
    "scale_of",
    "unit_of",
]

_ARTICLES_WORDS = """
a an the this that these those it its they them their there here you your yours we us our i me my he she
his her him one's is are am be been being was were do does did doing done has have had having will would
shall can get gets and so as of in on at with for which who whom whose such what also too up own
itself themselves yourself
"""
ARTICLES = frozenset(_ARTICLES_WORDS.split())
"""Words that may stand on one side only."""

LIGHT = frozenset(("use", "permit", "allow", "possibl", "anyon", "anybodi", "all", "some"))
"""Roots that a negation of the whole takes the place of: use it and avoid it, anyone can and nobody can."""

PARTICLES: Mapping[str, str] = MappingProxyType(
    {"down": "up", "out": "in", "off": "on", "wors": "better", "worst": "best"}
)
"""Roots whose opposite counts for nothing elsewhere, so that the opposite has to be looked for."""

_FILLERS_WORDS = """
please always just really very quite simply basically actually generally typically usually normally
essentially literally obviously clearly certainly definitely indeed rather pretty fairly somewhat kindly
carefully properly remember note tip hint reminder important importantly should must need needs ought
better best then therefore thus hence however well now etc e.g. i.e. ok okay again overall particular
particularly especially specifically ever
"""
FILLERS = frozenset(_FILLERS_WORDS.split())
"""Words that add emphasis, never a claim."""

_NEGATIONS_WORDS = """
not no never cannot without avoid neither nor none nobody nothing nowhere unless except excluding refuse
forbid forbidden prohibit prohibited hardly rarely seldom scarcely
nicht kein keine keinen keinem keiner nie niemals ohne pas ne jamais sans nunca não niet geen nooit не нет
никогда
"""
NEGATIONS = frozenset(_NEGATIONS_WORDS.split())

_DIRECTIONS_WORDS = """
from to into onto before after until till since than by over under above below between through toward
via per minus versus if when while because instead except against behind within inside outside unless or
but only
"""
DIRECTIONS = frozenset(_DIRECTIONS_WORDS.split())
"""Words that say which of two comes first, is more, or is the condition: bound to the word after them."""

SUBORDINATE = frozenset({"if", "when", "while", "because", "unless", "until", "although", "whether"})
"""Words that open a clause whose verb is not the sentence's."""

SEQUENCE = frozenset({"before", "after", "until", "till", "than", "instead", "if", "when", "while", "unless"})
"""Directions whose reversal contradicts. The reverse of from/to is another fact, as true as the first."""

COPULAS = frozenset({"is", "are", "was", "were", "equals", "means", "="})

PLACES = frozenset(
    {"on", "for", "in", "of", "with", "at", "when", "if", "after", "before", "from", "between"}
)
"""Prepositions that make the number after them a condition or a name, not a quantity."""

_LABELS_WORDS = """
chapter step version error http code status section page grade level lesson exercise question problem
room day week month year part phase case rule table figure line port python unit task item option
appendix issue ticket number no id account order invoice bug group team floor gate channel
"""
_AMOUNTS_WORDS = """
limit maximum minimum rate budget total number average mean margin length width height dose temperature
threshold cap size factor quorum interval duration
"""
AMOUNTS = frozenset(_AMOUNTS_WORDS.split())
"""Nouns whose "of" leads to an amount, not to a name."""

_ORDERING_WORDS = """
then next afterwards afterward later finally lastly subsequently thereafter secondly thirdly last
erst zuerst zunächst dann danach anschließend anschliessend schließlich schliesslich zuletzt
d'abord ensuite puis enfin finalement primero luego después finalmente entonces
prima poi dopo infine primeiro depois eerst daarna vervolgens först sedan
сначала сперва потом затем наконец
"""


def orders(word: str) -> bool:
    """Whether a root says what comes first and what next, so that the parts of a text keep their places."""
    return word in _ordering()


@lru_cache(maxsize=1)
def _ordering() -> frozenset[str]:
    return frozenset(map(root, _ORDERING_WORDS.split()))


_SUFFICING_ROOTS = """
enough recommend requir sufficient fin allow need ideal saf typical normal okai common usual reserv
mandatori suggest acceptabl
"""
SUFFICING = frozenset(_SUFFICING_ROOTS.split())
"""Roots by which a sentence says of an amount before it that it is the right one."""

LABELS = frozenset(_LABELS_WORDS.split())
"""Nouns whose number names one of many: chapter 3, error 404."""

_SMALL_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty
"""
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_OTHER_NUMBERS = """
hundred 100 | thousand 1000 | million 1000000 | billion 1000000000 | once 1 | twice 2 | thrice 3 | half 1/2
halves 1/2 | quarter 1/4 | quarters 1/4 | dozen 12
first 1st | second 2nd | third 3rd | fourth 4th | fifth 5th
"""


def number_of(word: str) -> str | None:
    """Return the number that a case-folded word names, in digits, else None."""
    return _numbers().get(word)


@lru_cache(maxsize=1)
def _numbers() -> Mapping[str, str]:
    table = {word: str(number) for number, word in enumerate(_SMALL_NUMBERS.split())}
    table.update((word, str(10 * number)) for number, word in enumerate(_TENS.split(), 3))
    for name, digits in groups(_OTHER_NUMBERS):
        table[name] = digits
    return MappingProxyType(table)


def groups(table: str) -> list[list[str]]:
    """Return the groups of a table: words side by side, groups parted by bars and line ends."""
    return [group.split() for line in table.strip().splitlines() for group in line.split("|")]


_UNITS = """
% percent percentage pct | $ dollar usd buck | € euro eur | £ pound gbp | ¥ yen | cent
kg kilogram kilo | g gram | mg milligram | lb lbs | oz ounce | ton tonne | km kilometer kilometre
m meter metre | cm centimeter centimetre | mm millimeter millimetre | mile mi | ft foot feet
inch inches | yard yd | l liter litre | ml milliliter millilitre | gallon gal | cup | tablespoon tbsp
teaspoon tsp | ms millisecond | second sec s | minute min mins | hour hr h hrs | day | week | month | year yr
decade | century | kb kilobyte | mb megabyte | gb gigabyte | tb terabyte | byte | bit | hz hertz | khz
mhz | ghz | celsius °c | fahrenheit °f | kelvin | degree ° | radian | watt | kw kilowatt | volt | amp | joule
newton | mph | kmh | mcg microgram | kcal | kj | calorie | pint | quart | acre | hectare | bar | psi | pascal
minuten minuto minutos минут | stunde stunden heure heures hora horas час часов
tage tagen jour jours día días
woche wochen semaine semana semanas | monat monate monaten mois meses | jahre jahren año años
sekunde sekunden seconde segundo segundos
kbit | mbit | gbit | mbyte | decibel db | pixel px | franc chf | peso | rupee | yuan | krona
"""


@lru_cache(maxsize=1)
def _units() -> Mapping[str, str]:
    return MappingProxyType({name: group[0] for group in groups(_UNITS) for name in group})


def unit_of(word: str) -> str | None:
    """Return the unit that a case-folded word names, in one spelling and singular, else None."""
    units = _units()
    return units.get(word) or units.get(word.removesuffix("s")) or units.get(word.removesuffix("es"))


_SCALES = """
second ms 1000 | minute ms 60000 | hour ms 3600000 | day ms 86400000 | week ms 604800000 | ms ms 1
decade year 10 | century year 100 | year year 1
km mm 1000000 | m mm 1000 | cm mm 10 | mm mm 1 | kg mg 1000000 | g mg 1000 | mg mg 1 | ton mg 1000000000
l ml 1000 | ml ml 1 | kw watt 1000 | watt watt 1
"""


def scale_of(unit: str) -> tuple[int, str] | None:
    """Return how many of the smallest unit of its kind a unit is, and that unit; None where it has none."""
    return _scales().get(unit)


@lru_cache(maxsize=1)
def _scales() -> Mapping[str, tuple[int, str]]:
    return MappingProxyType({unit: (int(many), base) for unit, base, many in groups(_SCALES)})


@lru_cache(maxsize=32_768)
def root(word: str) -> str:
    """Return a case-folded English word without its inflection (plural, -ed, -ing), other words as they are.

    Weaker than a stemmer on purpose: experience and experiment, or useful and useless, stay apart.
    """
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word.removesuffix("s") if len(word) == 3 and word.isalpha() and word.isascii() else word
    stripped = _without_suffix(word)
    if stripped.endswith("e") and len(stripped) > 3:
        stripped = stripped[:-1]
    if len(stripped) > 3 and stripped[-1] == stripped[-2] and stripped[-1] not in "aeiou":
        stripped = stripped[:-1]
    return f"{stripped[:-1]}i" if stripped.endswith("y") and len(stripped) > 3 else stripped


def forms_of_one_word(x: str, y: str) -> bool:
    """Whether two words of one root are one word: plan and planning, not plan and plane, or fill and file."""
    if x == y or x.endswith(_VERBAL) or y.endswith(_VERBAL) or unit_of(x) is not None:
        return True
    return not _bases(x).isdisjoint(_bases(y))


def _bases(word: str) -> set[str]:
    """Return a word and what it may be the plural or the third person of."""
    found = {word, word.removesuffix("s")}
    if word.endswith(_SIBILANT):
        found.add(word[:-2])
    if word.endswith("ies"):
        found.add(f"{word[:-3]}y")
    return found


_VERBAL = ("ing", "ings", "ed")
_SIBILANT = ("ses", "xes", "zes", "ches", "shes", "oes")


def _without_suffix(word: str) -> str:
    if word.endswith(("ss", "us", "is", "eed", "ous")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    for suffix in ("ings", "ing", "ed", "es", "s"):
        rest = word.removesuffix(suffix)
        if rest != word and len(rest) >= 3 and any(vowel in rest for vowel in "aeiouy"):
            return rest
    return word
