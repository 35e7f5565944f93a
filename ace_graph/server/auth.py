"""Authentication: the learner is the subject of a bearer token; the learner's teams may be a claim of it.

A token with the operator claim may also name another learner, whose memory the request is then about.

The algorithm is pinned by the server's key, never chosen by the token. A token must have a subject and an
expiry, and our audience if it names one. The server issues no tokens; `ace-graph token` makes one by hand.
"""

from __future__ import annotations

import asyncio
import json
import logging
import urllib.request
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, cast

import jwt
from pydantic import SecretStr

from ace_graph.base.clock import Clock
from ace_graph.base.errors import ConfigurationError, InvalidContext, RequestRefused
from ace_graph.base.settings import Settings
from ace_graph.memory.rights import Caller
from ace_graph.memory.stores.base import checked_learner_id
from ace_graph.playbooks.directory import listed_teams

logger = logging.getLogger("ace_graph")
LIFESPAN_SECONDS = 600.0
COOLDOWN_SECONDS = 10.0
"""Between two reads because of unknown keys, so that forged key ids cause no load."""
_TIMEOUT_SECONDS = 5.0
_MAX_BYTES = 1_000_000
_PUBLIC_KEY_TYPES = frozenset({"RSA", "EC", "OKP"})


class KeySet:
    """The public keys of tokens: a JSON Web Key Set at `source`, a path or an http(s) URL.

    It is read again when a new key is named. The algorithm belongs to the key: the one in the set, else the
    one of its type and curve. Shared secrets in a set are ignored, so that nobody can sign a token with a
    public key as if it were a secret. Why `jwt.PyJWKClient` is not used: docs/decisions/access.md.
    """

    def __init__(self, source: str, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._keys: Mapping[str | None, jwt.PyJWK] = {}
        self._read_at: float | None = None
        self._lock = asyncio.Lock()

    async def find(self, key_id: str | None) -> jwt.PyJWK | None:
        """Return the key with this id, or the only key there is when `key_id` is None; else None.

        Keys that are known stay known while the source can't be read. Raises RequestRefused (503) when there
        are none yet.
        """
        if self._is_stale(key_id):
            async with self._lock:
                if self._is_stale(key_id):
                    await self._read()
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _is_stale(self, key_id: str | None) -> bool:
        if self._read_at is None:
            return True
        age = self._clock.monotonic() - self._read_at
        unknown = key_id is not None and key_id not in self._keys
        return age > LIFESPAN_SECONDS or (unknown and age > COOLDOWN_SECONDS)

    async def _read(self) -> None:
        try:
            self._keys = _parse(await asyncio.to_thread(_fetch, self._source))
        except (OSError, ValueError) as error:
            logger.error("[ACE Server] ACE_JWKS can't be read: %s", type(error).__name__)  # noqa: TRY400  expected
            if not self._keys:
                raise RequestRefused(
                    503, "keys_unavailable", "tokens can't be checked now: try again later", retry_after=10
                ) from error
        self._read_at = self._clock.monotonic()


def _fetch(source: str) -> bytes:
    if not source.startswith(("https://", "http://")):
        return Path(source).expanduser().read_bytes()
    with urllib.request.urlopen(source, timeout=_TIMEOUT_SECONDS) as reply:  # noqa: S310  the scheme was just checked
        return cast("bytes", reply.read(_MAX_BYTES))


def _parse(raw: bytes) -> Mapping[str | None, jwt.PyJWK]:
    document: object = json.loads(raw)
    listed = cast("Mapping[str, object]", document).get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("a key set is an object with a list named keys")  # noqa: TRY004  it is a document's value
    keys = [_public_key(item) for item in cast("list[object]", listed)]
    return {key.key_id if isinstance(key.key_id, str) else None: key for key in keys if key is not None}


def _public_key(item: object) -> jwt.PyJWK | None:
    """Return a key that verifies signatures. None for any other: it must not lock everybody out."""
    if not isinstance(item, dict):
        return None
    key = cast("dict[str, object]", item)
    if str(key.get("kty")) not in _PUBLIC_KEY_TYPES or key.get("use", "sig") != "sig":
        return None
    try:
        return jwt.PyJWK(key)
    except (jwt.PyJWTError, NotImplementedError, TypeError) as error:  # TypeError: `alg` is no text
        logger.warning("[ACE Server] ACE_JWKS: a key can't be used: %s", type(error).__name__)
        return None


DEVELOPMENT_LEARNER = "local"
MAX_TOKEN_CHARS = 8_192
LEARNER_AUTHOR = "learner"
_OPERATOR_AUTHOR = "operator:"
_MAX_AUTHOR_CHARS = 128
"""The longest author that a commit takes (Delta.author)."""
MIN_SECRET_BYTES = 32
"""For HS256 (RFC 7518, 3.2)."""
_MAKE_ONE = 'make one with python -c "import secrets; print(secrets.token_hex(32))"'
_REQUIRED_CLAIMS = ("exp", "sub")
Act = Literal["read", "change", "forget", "converse", "judge", "record", "share", "own", "consolidate"]
"""What somebody does with a memory.

read: all that is the learner's. change: its bullets and playbooks, under the name of who does it. forget: the
learner. converse: the chat and its conversations. judge: a verdict on an answer. record: work, and learning
from it again. share: what others get, give, or wait for. own: a playbook's description, scope and end.
consolidate: a run whose versions name nobody.
"""


def operator_may(act: Act) -> bool:
    """Whether an operator may do this with the memory of a learner: help, and never speak for them."""
    return act in {"read", "change", "forget"}


class Identity(NamedTuple):
    """Whose memory a request is about, and who sends it: the learner, or an operator in the learner's place.

    `teams` are those of the token's claim; None: the store's table is asked. `may_operate`: the token has the
    operator claim. `operator` is the subject of the token where the learner is another one that it names.
    """

    learner: str
    teams: frozenset[str] | None = None
    may_operate: bool = False
    operator: str | None = None

    @property
    def user(self) -> Caller | str:
        """The learner with the token's teams, or by name where the store's table is to be asked."""
        return self.learner if self.teams is None else Caller(self.learner, self.teams)

    @property
    def author(self) -> str:
        """Who is the author of what the request changes, in the history."""
        return LEARNER_AUTHOR if self.operator is None else f"{_OPERATOR_AUTHOR}{self.operator}"

    def may(self, act: Act) -> bool:
        """Whether who sends the request may do this: a learner everything, an operator what helps."""
        return self.operator is None or operator_may(act)

    def check(self, act: Act) -> None:
        """Raise RequestRefused (403) for what an operator may not do."""
        if not self.may(act):
            raise RequestRefused(403, "forbidden", "only the learner can do this, not an operator")

    def operating_on(self, learner_id: str) -> Identity:
        """Return the identity of an operator's request about this learner.

        The learner's teams are not in the operator's token, so by teams of tokens nothing is reached. Raises
        RequestRefused: 403 without the operator claim, 422 for what is no id of a learner.
        """
        if not self.may_operate:
            raise RequestRefused(
                403, "forbidden", "this token is not an operator's: leave out the header X-ACE-Learner"
            )
        if len(_OPERATOR_AUTHOR) + len(self.learner) > _MAX_AUTHOR_CHARS:
            raise RequestRefused(
                403,
                "forbidden",
                f"an operator's subject may have {_MAX_AUTHOR_CHARS - len(_OPERATOR_AUTHOR)} characters",
            )
        try:
            learner = checked_learner_id(learner_id)
        except InvalidContext as error:
            raise RequestRefused(422, "invalid", "the header X-ACE-Learner is not a learner's id") from error
        return Identity(learner, None if self.teams is None else frozenset(), operator=self.learner)


class Authenticator:
    """Finds out who sends a request.

    Tokens are signed with a private key whose public key is in a key set, or with a shared secret (HS256).
    Without both everybody is the learner `local`, for requests of this machine only.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        """Raises ConfigurationError for a weak secret."""
        self._settings = settings
        self._keys = None if settings.jwks is None else KeySet(settings.jwks, clock)
        secret = settings.jwt_secret if self._keys is None else None
        self._secret = None if secret is None else _checked(secret)

    @property
    def development(self) -> bool:
        """Whether no token is needed and everybody is one learner."""
        return self._keys is None and self._secret is None

    async def identity(self, authorization: str | None) -> Identity:
        """Return who sends a request with this header. Raises RequestRefused (401, or 503)."""
        if self.development:
            return Identity(DEVELOPMENT_LEARNER)
        scheme, _, token = (authorization or "").strip().partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > MAX_TOKEN_CHARS:
            raise _unauthorized("no_token", "send a bearer token: Authorization: Bearer ...")
        if self._keys is None:
            return self._identity(token, self._secret, "HS256")
        try:
            key_id = cast("Mapping[str, object]", jwt.get_unverified_header(token)).get("kid")
        except jwt.PyJWTError as error:
            raise _unauthorized("invalid_token", "the token is not valid") from error
        key = await self._keys.find(key_id if isinstance(key_id, str) else None)
        if key is None:
            raise _unauthorized("invalid_token", "the token is not valid")
        return self._identity(token, key.key, key.algorithm_name)

    def _identity(self, token: str, key: object, algorithm: str) -> Identity:
        """Return the subject of the token, with its teams and whether it is an operator's."""
        settings = self._settings
        try:
            claims = cast(
                "Mapping[str, object]",
                jwt.decode(
                    token,
                    key,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # PyJWT's own union of key classes
                    algorithms=[algorithm],
                    audience=settings.jwt_audience,
                    options={"require": list(_REQUIRED_CLAIMS), "verify_iat": False},
                ),
            )
            name, operator = settings.jwt_teams_claim, settings.jwt_operator_claim
            # A token without the claim, or with another value than a list of names, is of nobody's team.
            teams = None if name is None else listed_teams(claims.get(name))
            operates = operator is not None and claims.get(operator) is True
            return Identity(checked_learner_id(claims["sub"]), teams, may_operate=operates)
        except jwt.ExpiredSignatureError as error:
            raise _unauthorized("expired_token", "the token has expired") from error
        except (jwt.PyJWTError, InvalidContext, ValueError) as error:
            logger.info("[ACE Server] a token was refused: %s", type(error).__name__)
            raise _unauthorized("invalid_token", "the token is not valid") from error


def _checked(configured: SecretStr) -> str:
    secret = configured.get_secret_value()
    if len(secret.encode()) < MIN_SECRET_BYTES:
        raise ConfigurationError(
            f"ACE_JWT_SECRET is shorter than {MIN_SECRET_BYTES} bytes and could be guessed: {_MAKE_ONE}"
        )
    return secret


def make_token(settings: Settings, learner: str, until: datetime, *, operator: bool = False) -> str:
    """Return a token of a learner, or of an operator, that a server with these settings accepts.

    Raises ConfigurationError where the settings hold no secret that it could be signed with, or no claim that
    makes an operator, and InvalidContext for a learner's id that can't be one.
    """
    if settings.jwks is not None:
        raise ConfigurationError(
            "with ACE_JWKS tokens are signed by who holds the private key, and not here: "
            "ask your identity provider for one"
        )
    if settings.jwt_secret is None:
        raise ConfigurationError(
            "there is no secret to sign a token with: set ACE_JWT_SECRET here and for the server, "
            f"{_MAKE_ONE}; without it the server asks for no token, and everybody is the learner 'local'"
        )
    claims: dict[str, object] = {"sub": checked_learner_id(learner), "exp": until}
    if settings.jwt_audience is not None:
        claims["aud"] = settings.jwt_audience
    if operator:
        if settings.jwt_operator_claim is None:
            raise ConfigurationError(
                "there are no operators yet: set ACE_JWT_OPERATOR_CLAIM here and for the server, "
                "such as ace_operator"
            )
        claims[settings.jwt_operator_claim] = True
    return jwt.encode(claims, _checked(settings.jwt_secret), algorithm="HS256")


def _unauthorized(code: str, message: str) -> RequestRefused:
    return RequestRefused(401, code, message)
