"""Texts that leave the project hold no keys."""

from __future__ import annotations

import pytest
from langchain_google_genai import ChatGoogleGenerativeAI
from pydantic import SecretStr

from ace_graph.agent.models import model_error, redacted, secrets_of
from ace_graph.base import ModelError


@pytest.mark.parametrize(
    "secret",
    [
        "AIzaSyA1234567890abcdefgh",
        "sk-abcdef1234567890",
        "tvly-abcdef1234567890",
        "https://host/v1/models?key=abc123def&alt=sse",
        "Authorization: Bearer eyJhbGciOi.eyJzdWIi.abc",
        "neo4j://alice:pass-word@host:7687",
    ],
)
def test_what_looks_like_a_key_is_hidden(secret: str) -> None:
    shown = redacted(f"it failed: {secret} was refused")
    assert "[hidden]" in shown
    for part in ("A1234", "abcdef12", "abc123def", "eyJ", "pass-word"):
        assert part not in shown
    assert shown.startswith("it failed:")


def test_ordinary_words_are_left_alone() -> None:
    text = "the model gemini-2.5-flash is overloaded; ask risk-management at https://host/a?b=c"
    assert redacted(text) == text


def test_known_secrets_are_hidden_whatever_they_look_like() -> None:
    assert redacted("swordfish was refused", frozenset({"swordfish"})) == "[hidden] was refused"


def test_the_keys_of_a_model_are_known_also_through_bindings() -> None:
    model = ChatGoogleGenerativeAI(model="m", api_key=SecretStr("swordfish"))
    bound = model.bind(stop=["x"]).with_config(tags=["t"])
    assert secrets_of(model) == secrets_of(bound) == {"swordfish"}
    assert secrets_of(object()) == frozenset()


def test_a_long_message_is_cut() -> None:
    error = model_error(ValueError("x" * 10_000), timeout=5)
    assert isinstance(error, ModelError)
    assert len(str(error)) < 500
