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

from ace_graph.memory.screening.account_numbers import has_bank_account, has_card
from ace_graph.memory.screening.passwords import has_password
from ace_graph.memory.screening.rules import Rule, first_kind, patterns_of, read_rules
from ace_graph.tables import read_toml

__all__ = ["entropy", "find_secret", "patterns", "redact", "redact_query"]

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


def patterns() -> Iterator[re.Pattern[str]]:
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
