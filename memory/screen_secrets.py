"""Which texts hold a secret: what well-known keys look like, passwords that are spelled out, and chance.

Does not: tell what the secret is. What is returned names the kind only.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from ace_graph.memory.screen_rule import Rule, first, rule

__all__ = ["entropy", "secret_in"]

_KINDS: tuple[Rule, ...] = (
    rule("a private key", "PRIVATE", r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY"),
    rule("an AWS key", "AKIA ASIA ABIA ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    rule(
        "a GitHub token",
        "gho_ ghp_ ghu_ ghs_ ghr_ github_pat_",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{22,})",
    ),
    rule("a GitLab token", "glpat-", r"\bglpat-[\w-]{20,}"),
    rule("a Google key", "AIza ya29. GOCSPX", r"\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}"),
    rule("a Slack token", "xox", r"\bxox[abeoprs]-[\w-]{10,}"),
    rule("a Stripe key", "k_live_ k_test_", r"\b[rsp]k_(?:live|test)_\w{16,}"),
    rule(
        "a model provider's key",
        "sk- pk- sk_ pk_ gsk_ tvly- pplx- lsv2_ r8_ hf_ nvapi-",
        r"\b(?:sk|pk|gsk|tvly|pplx|lsv2|r8|hf|nvapi)[-_](?=[\w-]*\d)[\w-]{18,}",
    ),
    rule("a package registry's token", "pypi-Ag npm_ dckr_pat_", r"\b(?:pypi-Ag|npm_|dckr_pat_)[\w-]{20,}"),
    rule("a SendGrid key", "SG.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    rule("a signed token", "eyJ", r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{4,}"),
    rule(
        "a login in an address",
        "://",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@]{1,100}:[^\s:/@]{3,100}@",
    ),
    rule(
        "an authorization header",
        "uthorization UTHORIZATION",
        r"(?i:\bauthorization\s*:\s*(?:bearer|basic)\s+[\w.+/=-]{8,})",
    ),
)
_SPELLED = re.compile(
    r"(?i:\b(?:pass(?:word|phrase|code|wd)?|pwd|secret|api[ _-]?key|access[ _-]?(?:key|token)|auth[ _-]?token"
    r"|token|credentials?|pin|otp|cvv|recovery code|private key)\b"
    r"(?:\s+(?:for|of|to|on)\s+[\w.@ -]{1,40}?)?)"
    r"\s*(?:(?i:\bis|=|:|->)\s*)(?P<value>[\"'`]?[^\s\"'`,;]{4,200})"
)
_CODE = re.compile(r"[()\[\]{}<>]|^\w+(?:\.\w+)+$|^[A-Za-z_]+$")
_TOKEN = re.compile(r"(?<![\w/+.-])[A-Za-z0-9+/_=-]{20,}(?![\w/+-])")
_HEX = re.compile(r"(?<!\w)[0-9a-fA-F]{32,}(?!\w)")
_MIN_ENTROPY = 3.9


def secret_in(text: str) -> str | None:
    """Return what kind of secret `text` seems to hold, None for none."""
    known = first(_KINDS, text)
    if known is not None:
        return known
    if any(_is_password(match["value"].strip("\"'`.!?")) for match in _SPELLED.finditer(text)):
        return "a password or key that is spelled out"
    if _HEX.search(text) or any(map(_is_random, _TOKEN.findall(text))):
        return "a random text, as keys are"
    return None


def entropy(text: str) -> float:
    """Return Shannon's entropy of `text` in bits a character; 0.0 for an empty text."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values()) if size else 0.0


def _is_password(value: str) -> bool:
    """Whether a value is one that somebody made up: no word, no placeholder, no expression."""
    if len(value) < 4 or _CODE.search(value):
        return False
    return any(char.isdigit() for char in value) or any(not char.isalnum() for char in value)


def _is_random(token: str) -> bool:
    """Whether a long token is random: letters of both cases and digits, mixed as no name mixes them."""
    kinds = any(map(str.islower, token)) + any(map(str.isupper, token)) + any(map(str.isdigit, token))
    switches = sum(_kind(a) != _kind(b) for a, b in pairwise(token))
    return kinds == 3 and entropy(token) >= _MIN_ENTROPY and switches * 3 >= len(token)


def _kind(char: str) -> int:
    return 0 if char.islower() else 1 if char.isupper() else 2 if char.isdigit() else 3
