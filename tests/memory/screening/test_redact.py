"""No key, token or login is left in a text that is redacted."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.memory.screening import redact, redact_query

KEY_LIKE = re.compile(
    r"""AIza[\w-]{10,}
    | \b(?:sk|pk|gsk|tvly|xai)-[\w-]{8,}
    | (?<=[?&])(?:key|api_?key|access_token)=[^&\s'"]+
    | \bBearer\s+[\w.~+/=-]+
    | (?<=://)[^/\s@:]+:[^/\s@]+(?=@)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What was hidden in version 0.1."""

PIECES = (
    "AIza",
    "sk-",
    "Bearer ",
    "://",
    "user:",
    "@host",
    "?key=",
    "&",
    "a1B2c3D4e5F6g7H8",
    " ",
    "ghp_",
    "-",
)


_BEGIN = "-----BEGIN RSA PRIVATE" + " KEY-----"
"""In two parts, so that no scan of this repository takes it for a key."""


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "glpat-abcdefghij0123456789XY",
        "xoxb-1234567890-abcdefghij",
        "sk_live_abcdefghijklmnop0123",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlLW9mLWFkYQ",
        f"{_BEGIN}\nMIIEpAIBAAKCAQEA\nabcd\n-----END RSA PRIVATE KEY-----",
        "hf_abcdefghijklmnopqrst0123456789",
    ],
)
def test_a_key_is_hidden_to_its_end(secret: str) -> None:
    assert redact(f"refused {secret} at once") == "refused [hidden] at once"


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_all_that_was_hidden_in_version_0_1_is_hidden(text: str) -> None:
    assert not KEY_LIKE.search(redact(text).replace("[hidden]", " "))


def test_a_text_without_secrets_stays() -> None:
    text = "the model gemini-2.5-flash is overloaded; ask risk-management at https://host/a?b=c"
    assert redact(text) == text


@pytest.mark.parametrize("name", ["password", "secret", "token", "key", "API_KEY", "access_token"])
def test_the_value_of_a_secret_parameter_is_hidden(name: str) -> None:
    assert redact_query(f"{name}=a b'c&size=3") == f"{name}=***&size=3"
