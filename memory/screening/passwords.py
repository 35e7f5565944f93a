"""Which texts spell out a password or a key: a name for it, a sign that it follows, and a value made up.

What counts as a value depends on the name: a PIN is digits, a password is not a word, and neither is an
expression of a program, a measure ("64-bit") or a placeholder.

Does not: know a password that is an ordinary word.
"""

from __future__ import annotations

import re

from ace_graph.memory.screening.disguise import folded

__all__ = ["password_in"]

_NAMES = (
    r"pass(?:word|phrase|code|wd)?|pwd|secret|api[ _-]?key|access[ _-]?(?:key|token)|auth[ _-]?token|token"
    r"|credentials?|recovery code|private key|secret key|login code"
    r"|passwort|kennwort|zugangscode|zugangsschlüssel|losungswort"
    r"|mots? de passe|mdp|code secret|code d'accès|clé (?:api|secrète|privée)"
    r"|contraseña|clave|código (?:secreto|de acceso)|palabra clave"
    r"|пароль|пароля|ключ доступа|секретный ключ|код доступа|кодовое слово"
    r"|senha|wachtwoord"
)
_PINS = r"pin|pin[ -]?code|code pin|cvv|cvc|otp|geheimzahl|código pin|пин|пин-код|пин код"
_FOR = (
    r"(?: (?:for|of|to|on|zum|zur|für|von|des|der|vom|meiner|meines|de|du|del|pour|para|от|для|к|на"
    r"|моей|карты)\b"
    r" [\w.@ '-]{1,40}?| карты)?"
)
_IS = r" ?(?:\b(?:is|ist|lautet|heißt|est|es|это|equals)\b|=|:|->|—|–| - )\s?"
_VALUE = r"(?P<value>[\"'`«„“]?[^\s\"'`,;«»„“”]{4,200})"

_PASSWORD = re.compile(folded(rf"(?i:\b(?:{_NAMES}){_FOR}{_IS}){_VALUE}"))
_PIN = re.compile(
    folded(
        rf"(?i:\b(?:{_PINS}){_FOR}(?:{_IS}(?:\w{{2,10}} )?| ))"
        r"(?P<value>\d{4,8}(?:-\d{1,4})?)(?![\w.,]\d|\w)"
    )
)
_CHINESE = re.compile(
    r"(?:密码|口令|密钥|密碼|暗号)[^,.;是为為:=]{0,12}?(?:是|为|為|:|=) ?(?P<value>[\x21-\x7e]{4,200})"
)

_CODE = re.compile(r"[()\[\]{}<>]|^\w{1,200}(?:\.\w{1,200}){1,20}$|^[A-Za-z_]{1,200}$|^[$%]")
_MEASURE = re.compile(
    r"(?i:\d[\d.,]{0,12}[- ]?(?:bits?|bytes?|char\w{0,8}|digits?|stellig\w{0,2}|zeichen|minutes?"
    r"|hours?|days?|sec\w{0,5}"
    r"|min|ms|[smhdv%]|kb|mb|hz)?)"
)
_PLACEHOLDER = re.compile(r"(?i:(?:your|my|the|example|x{3}|\*{3}|\.{3}|#{3})[\w*.#-]{0,200})")
_STRONG = frozenset("!@#$%^&*?+=~§")


def password_in(text: str) -> bool:
    """Whether a folded text of at most a few thousand characters spells a password, a key or a PIN out."""
    if _PIN.search(text):
        return True
    found = [*_PASSWORD.finditer(text), *_CHINESE.finditer(text)]
    return any(_is_made_up(match["value"].strip("\"'`.!?«»„“”")) for match in found)


def _is_made_up(value: str) -> bool:
    """Whether a value is one that somebody made up: no word, no measure, no placeholder, no expression."""
    if len(value) < 4 or _CODE.search(value) or _MEASURE.fullmatch(value) or _PLACEHOLDER.fullmatch(value):
        return value.isdigit() and len(value) >= 6
    letters = any(map(str.isalpha, value))
    return letters and any(char.isdigit() or char in _STRONG for char in value)
