"""Which texts hold the number of a payment card or of a bank account, by checksum."""

from __future__ import annotations

import re

__all__ = ["has_bank_account", "has_card"]

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


def _lengths() -> dict[str, int]:
    entries = (entry.split(":") for entry in _COUNTRIES.split())
    return {country: int(length) for length, names in entries for country in names.split(",")}


_LENGTHS = _lengths()


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
