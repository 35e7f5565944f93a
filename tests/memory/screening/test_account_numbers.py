"""Numbers of cards and bank accounts are told from other numbers by their length and their check digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory.screening import has_bank_account, has_card

PREFIXES = {
    "4": (13, 16, 19), "51": (16,), "55": (16,), "22": (16,), "27": (16,), "34": (15,), "37": (15,),
    "30": (14,), "36": (14,), "38": (14,), "35": (16,), "6011": (16, 19), "65": (16, 19), "64": (16, 19),
    "62": (16, 19),
}  # fmt: skip
"""What cards of issuers begin with, and how long they are."""

NOT_ISSUED = ("1", "7", "8", "9", "50", "56", "21", "28", "31", "33", "39", "60")
CARDS = [(prefix, size) for prefix, sizes in PREFIXES.items() for size in sizes]


def _check_digit(digits: str) -> str:
    """The digit that makes it a number of a card, by the rule of Luhn."""
    doubled = [int(each) * (2 - place % 2) for place, each in enumerate(reversed(digits))]
    return str(-sum(value // 10 + value % 10 for value in doubled) % 10)


def _number(prefix: str, size: int, rest: str) -> str:
    digits = prefix + rest[: size - 1 - len(prefix)]
    return digits + _check_digit(digits)


@given(st.sampled_from(CARDS), st.text("0123456789", min_size=18, max_size=18), st.integers(1, 9))
def test_one_of_ten_check_digits_is_that_of_a_card(card: tuple[str, int], rest: str, wrong: int) -> None:
    number = _number(*card, rest)
    other = number[:-1] + str((int(number[-1]) + wrong) % 10)
    assert has_card(f"pay with {number} today") is (len(set(number)) > 1)
    assert not has_card(f"pay with {other} today")


@pytest.mark.parametrize("prefix", NOT_ISSUED)
def test_what_no_issuer_gives_out_is_no_card(prefix: str) -> None:
    assert not has_card(_number(prefix, 16, "9876543219876543"))
    assert has_card(_number("4", 16, "9876543219876543"))


@pytest.mark.parametrize(
    ("prefix", "size"), [("4", 14), ("4", 15), ("51", 15), ("37", 16), ("36", 16), ("65", 14), ("65", 15)]
)
def test_a_card_of_another_length_is_none(prefix: str, size: int) -> None:
    assert not has_card(_number(prefix, size, "9876543219876543219"))


CARD, AMEX = _number("4", 16, "123412341234123"), _number("37", 15, "123412341234123")


@pytest.mark.parametrize("mark", [" ", "-"])
def test_a_card_is_written_in_groups(mark: str) -> None:
    groups = mark.join((CARD[:4], CARD[4:8], CARD[8:12], CARD[12:]))
    assert has_card(groups)
    assert has_card(mark.join((AMEX[:4], AMEX[4:10], AMEX[10:])))
    assert not has_card(mark.join((CARD[:3], CARD[3:8], CARD[8:12], CARD[12:])))
    assert not has_card(f"{CARD[:4]} {CARD[4:8]}-{CARD[8:12]} {CARD[12:]}")


@pytest.mark.parametrize("around", ["x{}", "1.{}", "{}-7", "{}.5", "+{}", "{} 1", "{}x"])
def test_a_part_of_another_number_is_no_card(around: str) -> None:
    assert has_card(f"({CARD})")
    assert not has_card(around.format(CARD))


ACCOUNTS = (
    "DE89 3704 0044 0532 0130 00", "GB82 WEST 1234 5698 7654 32", "NO93 8601 1117 947",
    "FR1420041010050500013M02606",
    "CH9300762011623852957", "MT84MALT011000012345MTLCAST001S", "BR1800360305000010009795493C1",
    "NL91ABNA0417164300",
    "GL8964710001000206", "LC55HEMM000100010012001200023015", "PT50000201231234567890154",
    "SE4550000000058398257466",
)  # fmt: skip
"""From the register of such numbers."""


@pytest.mark.parametrize("account", ACCOUNTS)
def test_an_account_is_known_by_its_country_and_its_check_digits(account: str) -> None:
    plain = account.replace(" ", "")
    assert has_bank_account(f"pay to {account} soon")
    assert has_bank_account(plain.lower())
    assert has_bank_account(f"{plain}AB"), "what follows may stand close"
    assert not has_bank_account(plain[:-1])
    assert not has_bank_account(f"x{plain}")
    assert not has_bank_account("ZZ" + plain[2:])
    for place in (3, len(plain) - 1):
        changed = "1" if plain[place] != "1" else "2"
        assert not has_bank_account(plain[:place] + changed + plain[place + 1 :])
