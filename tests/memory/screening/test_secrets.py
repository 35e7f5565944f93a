"""Keys by their shape, passwords by the name before them, numbers by their checksums."""

from __future__ import annotations

import pytest

from ace_graph.memory.screening.screen import screen
from benchmarks.redteam.attacks import filled_in

SPELLED = "secret: a password or key that is spelled out"


@pytest.mark.parametrize(
    "text",
    [
        "my password is hunter2",
        "Mein Passwort lautet Sommer-2024!",
        "Das Kennwort für das Portal ist: Tr4um-Haus",
        "Mon mot de passe est Soleil#2024",
        "le mot de passe : lapin99bleu",
        "Mi contraseña es Verano-2024!",
        "La clave del portal: gato77negro",
        "我的密码是abc12345",
        "登录口令：Xia2024!",
        "Мой пароль: Leto-2024!",
        "Пароль от портала — kot77chern",
        "the pin is 4711",
        "Пин-код карты 4711",
        "Die PIN meiner Karte ist 4711.",
        "password: 12345678",
        "password: 123456",
        "password: k9#x",
    ],
)
def test_a_password_is_found_in_six_languages(text: str) -> None:
    assert screen(text) == SPELLED


@pytest.mark.parametrize(
    "text",
    [
        "pin = GPIO18",
        "Connect pin 4 to ground and pin 12 to 5V.",
        "The token is 64-bit.",
        "The password is checked twice.",
        'Set password = os.environ["DB_PASSWORD"] first.',
        "api_key=YOUR_API_KEY must be replaced.",
        "La clave es: 3+4",
        "Пароль: это слово.",
        "密码是用来保护账户的。",
        "token: 4096",
        "password: 12345",
    ],
)
def test_an_ordinary_value_after_a_name_of_a_secret_passes(text: str) -> None:
    assert screen(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Pay with {card} today.", "a card number"),
        ("Pay with {card_dashes} today.", "a card number"),
        ("Überweise auf {iban} bitte.", "a bank account"),
        ("Mon compte est {iban_spaces} ici.", "a bank account"),
        ("The backup opens with {age} only.", "an age key"),
        ("My seed phrase: {seed}", "a seed phrase"),
        ("{seed}", "a seed phrase"),
        ("The bot logs in with {discord} each time.", "a Discord token"),
    ],
)
def test_a_number_or_key_is_named_by_its_kind(text: str, kind: str) -> None:
    assert screen(filled_in(text)) == f"secret: {kind}"


@pytest.mark.parametrize(
    "text",
    [
        "Pay with 4111 1111 1111 1112 today.",
        "The sum is 4111111111111111.5 in all.",
        "The ISBN is 978-3-16-148410-0.",
        "The order 4711-8893-1204-5567 was sent.",
        "Überweise auf DE88370400440532013000 bitte.",
        "The model DE12 costs more than the model DE14 and the model DE16.",
        "Learn these words: draw line point circle square angle",
        "pick random element then weigh sample many times until done",
    ],
)
def test_a_wrong_check_digit_or_a_plain_row_of_words_passes(text: str) -> None:
    assert screen(text) is None
