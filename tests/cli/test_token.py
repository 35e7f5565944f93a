"""`ace-graph token`: a server with the same settings takes it, or one sentence says what is missing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import jwt
import pytest

from ace_graph.base import RequestRefused, Settings, SystemClock
from ace_graph.server import Authenticator, Identity
from tests.cli.commands import Commands

SECRET = "a secret of a test, long enough for HS256"


@pytest.fixture
def signing(ace: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The commands, with a secret, an audience and the name of a claim."""
    monkeypatch.setenv("ACE_JWT_SECRET", SECRET)
    monkeypatch.setenv("ACE_JWT_AUDIENCE", "ace")
    monkeypatch.setenv("ACE_JWT_OPERATOR_CLAIM", "ace_operator")
    return ace


async def _identity(printed: str, **changed: object) -> Identity:
    settings = Settings.load().model_copy(update=changed)
    return await Authenticator(settings, SystemClock()).identity(f"Bearer {printed.strip()}")


async def test_the_server_takes_the_token_for_the_learner(signing: Commands) -> None:
    done = signing.ok("token", "--learner", "Zoë 1")
    assert done.out.count("\n") == 1
    assert done.err == ""
    assert await _identity(done.out) == Identity("Zoë 1")
    assert (await _identity(signing.ok("token").out)).learner == "local"
    with pytest.raises(RequestRefused):
        await _identity(done.out, jwt_audience="another")


async def test_an_operator_is_one_only_where_it_is_asked_for(signing: Commands) -> None:
    found = await _identity(signing.ok("token", "--learner", "root", "--operator").out)
    assert (found.learner, found.may_operate) == ("root", True)
    assert not (await _identity(signing.ok("token", "--learner", "root").out)).may_operate


@pytest.mark.parametrize(
    ("given", "lasts"),
    [
        ((), timedelta(days=1)),
        (("--expires", "90s"), timedelta(seconds=90)),
        (("--expires", "15m"), timedelta(minutes=15)),
        (("--expires", "12h"), timedelta(hours=12)),
        (("--expires", "30d"), timedelta(days=30)),
    ],
)
def test_a_token_expires_when_it_is_told_to(
    signing: Commands, given: tuple[str, ...], lasts: timedelta
) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    claims = jwt.decode(signing.ok("token", *given).out.strip(), SECRET, algorithms=["HS256"], audience="ace")
    until = datetime.fromtimestamp(claims["exp"], UTC)
    assert before + lasts <= until <= datetime.now(UTC) + lasts


@pytest.mark.parametrize("expires", ["0s", "-1d", "soon", "12", "1w", "9999d", "", "1d1h"])
def test_a_wrong_time_is_wrong_usage(signing: Commands, expires: str) -> None:
    done = signing("token", "--expires", expires)
    assert (done.code, done.out) == (2, "")
    assert "such as 12h or 30d" in done.err


@pytest.mark.parametrize(
    ("unset", "more", "told"),
    [
        ("ACE_JWT_SECRET", {}, "set ACE_JWT_SECRET here and for the server"),
        ("ACE_JWT_SECRET", {"ACE_JWT_SECRET": "short-s3cret"}, "shorter than 32 bytes"),
        ("ACE_JWT_SECRET", {"ACE_JWKS": "https://id.example/keys"}, "identity provider"),
        ("ACE_JWT_OPERATOR_CLAIM", {}, "set ACE_JWT_OPERATOR_CLAIM"),
    ],
)
def test_what_is_missing_is_one_sentence(
    signing: Commands, monkeypatch: pytest.MonkeyPatch, unset: str, more: dict[str, str], told: str
) -> None:
    monkeypatch.delenv(unset)
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    done = signing("token", "--learner", "ada", "--operator")
    assert (done.code, done.out) == (1, "")
    assert told in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert "s3cret" not in done.err


def test_an_id_that_can_not_be_one_is_refused(signing: Commands) -> None:
    assert signing("token", "--learner", "").code == 2
    assert signing("token", "--learner", "x" * 257).code == 2
