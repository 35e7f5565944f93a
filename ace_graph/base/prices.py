"""What model calls cost, by the prices in the setting ACE_PRICES.

    ACE_PRICES="gemini-2.5-flash=0.30/2.50, gpt-5-mini=0.25/2.00"

Prices are for a million input and output tokens, in any currency. There are no built-in prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

_FORM = "write model=in/out for a million tokens, such as gemini-2.5-flash=0.30/2.50"
_MILLION = 1_000_000


class Price(NamedTuple):
    """What a million input tokens and a million output tokens of a model cost."""

    model: str
    input: float
    output: float


def read_prices(text: str) -> tuple[Price, ...]:
    """Return the prices in a list separated by commas. Raises ValueError that says how to write one."""
    prices = tuple(_read(part) for part in text.split(",") if part.strip())
    models = [price.model for price in prices]
    twice = sorted({model for model in models if models.count(model) > 1})
    if twice:
        raise ValueError(f"{twice[0]} has two prices: keep one")
    return prices


def cost_of(
    model: str | None, input_tokens: int, output_tokens: int, prices: Sequence[Price]
) -> float | None:
    """Return the cost of a call of `model`; None for a model without a price.

    A price for `provider:name` is that of the model `name`, and so is one for Gemini's "models/name".
    """
    if model is None:
        return None
    for price in prices:
        if _model_name(price.model) == _model_name(model):
            return (price.input * input_tokens + price.output * output_tokens) / _MILLION
    return None


def _model_name(model: str) -> str:
    return model.rpartition(":")[2].strip().removeprefix("models/").casefold()


def _read(part: str) -> Price:
    model, equals, amounts = part.rpartition("=")
    each, slash, other = amounts.partition("/")
    if not (equals and slash and model.strip()):
        raise ValueError(f"{part.strip()[:60]!r} is not a price: {_FORM}")
    return Price(model.strip(), _amount(each), _amount(other))


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not isfinite(amount) or amount < 0:
        raise ValueError(f"{text.strip()[:60]!r} is not a price: {_FORM}")
    return amount
