"""Secrets in texts: which text holds one, and a text without those that it holds.

Found are what well-known keys look like (data/secrets.toml), passwords that are spelled out, numbers of cards
and bank accounts, seed phrases, and what only chance writes. A kind is named, never the secret.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import cast

from ace_graph.base.tables import read_toml
from ace_graph.memory.screening.rules import Rule, first_kind, patterns_of, read_rules

# Which texts hold the number of a payment card or of a bank account, by checksum.


_DIGITS = re.compile(r"(?<![\w.,+-])\d(?:[ -]?\d){12,18}(?![\w-]|[.,]\d| \d)")
_GROUPED = re.compile(r"\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{4,5}")
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[068]\d{12}|35\d{14}"
    r"|6(?:011\d{12,15}|[245]\d{14,17})"
)
"""What cards of the large issuers begin with, and how long they are."""
_ACCOUNT = re.compile(r"(?<!\w)([A-Za-z]{2})\d{2}(?: ?[A-Za-z0-9]){11,36}")
_COUNTRIES = (
    "15:NO 16:BE 18:DK,FI,NL,FO,GL 19:MK,SI 20:AT,BA,EE,KZ,LT,LU,XK 21:CH,HR,LI,LV"
    " 22:BG,BH,CR,DE,GB,GE,IE,ME,RS 23:AE,GI,IL,TL 24:AD,CZ,ES,MD,PK,RO,SA,SE,SK,TN,VG 25:PT 26:IS,TR"
    " 27:FR,GR,IT,MC,MR,SM 28:AL,AZ,CY,DO,GT,HU,LB,PL 29:BR,EG,PS,QA,UA 30:JO,KW,MU 31:MT,SC 32:LC 33:RU"
)
"""How long account numbers are, by country."""


_LENGTHS = {
    country: int(length)
    for length, _, names in (entry.partition(":") for entry in _COUNTRIES.split())
    for country in names.split(",")
}


def has_card(text: str) -> bool:
    """Whether a text holds a number that an issuer of cards could have given out."""
    return any(map(_is_card, _DIGITS.findall(text)))


def has_bank_account(text: str) -> bool:
    """Whether a text holds an international bank account number whose check digits are right."""
    return any(_is_account(found) for found in _ACCOUNT.finditer(text))


def _is_card(written: str) -> bool:
    number = re.sub(r"[ -]", "", written)
    if not _GROUPED.fullmatch(written) or not _ISSUED.fullmatch(number) or len(set(number)) < 2:
        return False
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(number))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _is_account(found: re.Match[str]) -> bool:
    length = _LENGTHS.get(found[1].upper())
    written = found.group().replace(" ", "").upper()
    if length is None or len(written) < length:
        return False
    number = written[4:length] + written[:4]
    return int("".join(str(int(char, 36)) for char in number)) % 97 == 1


# Which texts spell out a password or a key: a name for it, a sign that it follows, and a value made up.
#
# What counts as a value depends on the name: a PIN is digits, a password is not a word, and neither is an
# expression of a program, a measure ("64-bit") or a placeholder. A password that is an ordinary word is not
# found. The names are in data/passwords.toml.


_CODE = re.compile(r"[()\[\]{}<>]|^\w{1,200}(?:\.\w{1,200}){1,20}$|^[A-Za-z_]{1,200}$|^[$%]")
_MEASURE = re.compile(
    r"(?i:\d[\d.,]{0,12}[- ]?(?:bits?|bytes?|char\w{0,8}|digits?|stellig\w{0,2}|zeichen|minutes?"
    r"|hours?|days?|sec\w{0,5}"
    r"|min|ms|[smhdv%]|kb|mb|hz)?)"
)
_PLACEHOLDER = re.compile(r"(?i:(?:your|my|the|example|x{3}|\*{3}|\.{3}|#{3})[\w*.#-]{0,200})")
_STRONG = frozenset("!@#$%^&*?+=~§")


def has_password(text: str) -> bool:
    """Whether a folded text of at most a few thousand characters spells a password, a key or a PIN out."""
    return any(
        rule.kind == "pin" or _is_made_up(match["value"].strip("\"'`.!?«»„“”"))
        for rule in read_rules("passwords.toml")
        for match in rule.find(text)
    )


def password_patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the data."""
    return patterns_of(read_rules("passwords.toml"))


def _is_made_up(value: str) -> bool:
    """Whether a value is one that somebody made up: no word, no measure, no placeholder, no expression."""
    if len(value) < 4 or _CODE.search(value) or _MEASURE.fullmatch(value) or _PLACEHOLDER.fullmatch(value):
        return value.isdigit() and len(value) >= 6
    letters = any(map(str.isalpha, value))
    return letters and any(char.isdigit() or char in _STRONG for char in value)


_FILE = "secrets.toml"
_HIDDEN = "[hidden]"
_TAIL = re.compile(r"[\w+/=-]*")
"""What still belongs to a key behind the part by which it is known."""
_TOKEN = re.compile(r"(?<![\w/+=.-])[A-Za-z0-9+/_=-]{20,}(?![\w/+-])")
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]{3,}")
_HEX = re.compile(r"(?<!\w)[0-9a-fA-F]{32,}(?!\w)")
_MIN_ENTROPY = 3.9
_SEED_WORDS = re.compile(
    r"(?<![\w'-])(?:[1-9]\d?[.)] )?[a-z]{3,8}(?:,? (?:[1-9]\d?[.)] )?[a-z]{3,8}){11,39}(?![\w'-])"
)
_SEED_NAMED = re.compile(
    r"(?i:\b(?:seed|recovery|mnemonic|wallet|backup) (?:phrase|words?|seed)|\bmnemonic\b)"
)
_SEED_SIZES = frozenset({12, 15, 18, 21, 24})


def find_secret(text: str) -> str | None:
    """Return what kind of secret a folded text seems to hold, None for none."""
    return first_kind(read_rules(_FILE), text) or _kind_by_checks(text)


def redact(text: str) -> str:
    """Return `text` with "[hidden]" for all that looks like a key, a token or a login."""
    for rule in read_rules(_FILE, "loose"):
        text = rule.pattern.sub(_HIDDEN, text)
    for rule in read_rules(_FILE):
        text = _without_matches(rule, text)
    return text


def redact_query(query: str) -> str:
    """Return the query of an address with "***" for the values of parameters that hold a secret."""
    return _secret_parameter().sub(r"\1=***", query)


def secret_patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the data."""
    yield from patterns_of([*read_rules(_FILE), *read_rules(_FILE, "loose")])
    yield _secret_parameter()


def entropy(text: str) -> float:
    """Return Shannon's entropy of `text` in bits a character; 0.0 for an empty text."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values()) if size else 0.0


def _kind_by_checks(text: str) -> str | None:
    """What kind of secret a text holds that a pattern alone does not tell."""
    if has_password(text):
        return "a password or key that is spelled out"
    if has_card(text):
        return "a card number"
    if has_bank_account(text):
        return "a bank account"
    if any(map(_is_seed_phrase, _SEED_WORDS.finditer(text))):
        return "a seed phrase"
    if _HEX.search(text) or any(map(_is_random, _TOKEN.findall(text))):
        return "a random text, as keys are"
    return None


def _is_seed_phrase(found: re.Match[str]) -> bool:
    """Whether a row of short words is no sentence, and called a seed phrase, or alone and as long as one."""
    words = re.findall(r"[a-z]{3,8}", found.group())
    if sum(word in _sentence_words() for word in words) > 1:
        return False
    named = _SEED_NAMED.search(found.string[max(0, found.start() - 60) : found.start()])
    alone = len(found.group()) * 5 >= len(found.string) * 4
    return named is not None or (alone and len(words) in _SEED_SIZES)


def _is_random(token: str) -> bool:
    """Whether a long token is random: letters of both cases and digits, mixed as no name mixes them."""
    kinds = any(map(str.islower, token)) + any(map(str.isupper, token)) + any(map(str.isdigit, token))
    switches = sum(_kind(a) != _kind(b) for a, b in pairwise(token))
    if sum(map(len, _NAME_PARTS.findall(token))) * 5 >= len(token) * 3:
        return False  # words in one, as programs name things
    return kinds == 3 and entropy(token) >= _MIN_ENTROPY and switches * 3 >= len(token)


def _kind(char: str) -> int:
    return 0 if char.islower() else 1 if char.isupper() else 2 if char.isdigit() else 3


def _without_matches(rule: Rule, text: str) -> str:
    kept, end = list[str](), 0
    for match in rule.find(text):
        if match.start() >= end:
            kept += (text[end : match.start()], _HIDDEN)
            tail = _TAIL.match(text, match.end())
            end = match.end() if tail is None else tail.end()
    return "".join((*kept, text[end:]))


@cache
def _secret_parameter() -> re.Pattern[str]:
    names = cast(str, read_toml("ace_graph.memory.screening", _FILE)["secret_parameters"])
    return re.compile(rf"(?i)({'|'.join(names.split())})=[^&]*")


@cache
def _sentence_words() -> frozenset[str]:
    return frozenset(cast(str, read_toml("ace_graph.memory.screening", _FILE)["sentence_words"]).split())
