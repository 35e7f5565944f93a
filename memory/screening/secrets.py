"""Which texts hold a secret: what well-known keys look like, passwords that are spelled out, and chance.

Does not: tell what the secret is. What is returned names the kind only.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from ace_graph.memory.screening.account_numbers import has_bank_account, has_card
from ace_graph.memory.screening.passwords import password_in
from ace_graph.memory.screening.rules import Rule, first, rule

__all__ = ["entropy", "secret_in"]

_KINDS: tuple[Rule, ...] = (
    rule("a private key", "PRIVATE", r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY"),
    rule("an AWS key", "AKIA ASIA ABIA ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    rule(
        "a GitHub token",
        "gho_ ghp_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20}|github_pat_\w{22})",
    ),
    rule("a GitLab token", "glpat-", r"\bglpat-[\w-]{20}"),
    rule("a Google key", "AIza ya29. GOCSPX", r"\bAIza[\w-]{30}|\bya29\.[\w-]{20}|\bGOCSPX-[\w-]{20}"),
    rule("a Slack token", "xox", r"\bxox[abeoprs]-[\w-]{10}"),
    rule("a Stripe key", "k_live_ k_test_", r"\b[rsp]k_(?:live|test)_\w{16}"),
    rule(
        "a model provider's key",
        "sk- pk- sk_ pk_ gsk_ tvly- pplx- lsv2_ r8_ hf_ nvapi- xai-",
        r"\b(?:sk|pk|gsk|tvly|pplx|lsv2|r8|hf|nvapi|xai)[-_](?=[\w-]{0,200}\d)[\w-]{18}",
    ),
    rule("a package registry's token", "pypi-Ag npm_ dckr_pat_", r"\b(?:pypi-Ag|npm_|dckr_pat_)[\w-]{20}"),
    rule("a SendGrid key", "SG.", r"\bSG\.[\w-]{16,80}\.[\w-]{16}"),
    rule("a Discord token", ".", r"(?<![\w.-])[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,45}(?![\w.-])"),
    rule("a Telegram token", ":AA", r"(?<!\d)\d{8,10}:AA[\w-]{32}"),
    rule("an age key", "AGE-SECRET-KEY-1 age-secret-key-1", r"(?i:\bage-secret-key-1[0-9a-z]{50})"),
    rule("a signed token", "eyJ", r"(?<![\w-])eyJ[\w-]{8,1200}\.eyJ[\w-]{8,1200}\.[\w-]{4}"),
    rule(
        "a login in an address",
        "://",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@]{1,100}:[^\s:/@]{3,100}@",
    ),
    rule(
        "an authorization header",
        "uthorization UTHORIZATION",
        r"(?i:\bauthorization ?: ?(?:bearer|basic) [\w.+/=-]{8})",
    ),
)
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
_SENTENCE_WORDS = (
    "and are any because been before being between but can does don each every for from get give had has have"
    " her his how into its let make may more most must new not our out over per say see she should some such"
    " take than that the their them then there these they think this those too under use used using was were"
    " what when where which while who why will with without would write you your"
    " aber als auch auf aus bei das dem den der des die ein eine einen einer eines erst fur hat ist kann man"
    " mit nach nicht noch nur oder sich sie sind und von vor was wenn werden wie wird zum zur"
    " avec dans des elle est les mais par pas plus pour que qui sont sur une vous"
    " como con del desde donde ella entre esta las los mas muy para pero por que ser sin sobre son una uno"
)
_PROSE = frozenset(_SENTENCE_WORDS.split())


def secret_in(text: str) -> str | None:
    """Return what kind of secret a folded text seems to hold, None for none."""
    return first(_KINDS, text) or _judged(text)


def entropy(text: str) -> float:
    """Return Shannon's entropy of `text` in bits a character; 0.0 for an empty text."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values()) if size else 0.0


def _judged(text: str) -> str | None:
    """What a text holds that a pattern alone does not tell."""
    if password_in(text):
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
    if sum(word in _PROSE for word in words) > 1:
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
