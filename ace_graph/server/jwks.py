"""The public keys of tokens: a JSON Web Key Set from a file or a URL, read again when a new key is named.

The algorithm belongs to the key: what the set says, else the one of its kind. Shared secrets in a set are
ignored, so that nobody can sign with a public key as if it were one.

Does not: verify tokens.
"""

from __future__ import annotations

import asyncio
import json
import logging
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import jwt

from ace_graph.errors import RequestRefused
from ace_graph.server.clock import Clock

__all__ = ["KeySet", "PublicKey"]

logger = logging.getLogger("ace_graph")

FRESH_SECONDS = 600.0
PAUSE_SECONDS = 10.0
"""Between two readings for the sake of keys that are not there."""
_TIMEOUT = 5.0
_MOST_BYTES = 1_000_000
_ALGORITHMS: Mapping[str, tuple[str, ...]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512", "ES256K"),
    "OKP": ("EdDSA",),
}
_BY_CURVE: Mapping[str, str] = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "secp256k1": "ES256K"}


@dataclass(frozen=True)
class PublicKey:
    """A key, and the one algorithm that it is used with."""

    key: object
    algorithm: str


class KeySet:
    """The keys at `source`, a path or an http(s) URL."""

    def __init__(self, source: str, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._keys: Mapping[str | None, PublicKey] = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()

    async def find(self, key_id: str | None) -> PublicKey | None:
        """Return the key of that id; without an id the only key there is. None where there is none.

        Raises RequestRefused (503) when the keys can't be read and none are known.
        """
        if self._stale(key_id):
            async with self._reading:
                if self._stale(key_id):
                    await self._read()
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _stale(self, key_id: str | None) -> bool:
        if self._read_at is None:
            return True
        age = self._clock.monotonic() - self._read_at
        unknown = key_id is not None and key_id not in self._keys
        return age > FRESH_SECONDS or (unknown and age > PAUSE_SECONDS)

    async def _read(self) -> None:
        try:
            raw = await asyncio.to_thread(_fetch, self._source)
            self._keys = _parsed(raw)
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
    with urllib.request.urlopen(source, timeout=_TIMEOUT) as reply:  # noqa: S310  the scheme was just checked
        return cast("bytes", reply.read(_MOST_BYTES))


def _parsed(raw: bytes) -> Mapping[str | None, PublicKey]:
    document: object = json.loads(raw)
    listed = cast("Mapping[str, object]", document).get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("a key set is an object with a list named keys")  # noqa: TRY004  it is a document's value
    found: dict[str | None, PublicKey] = {}
    for each in cast("list[object]", listed):
        made = _public_key(cast("Mapping[str, object]", each)) if isinstance(each, dict) else None
        if made is not None:
            key_id = cast("Mapping[str, object]", each).get("kid")
            found[key_id if isinstance(key_id, str) else None] = made
    return found


def _public_key(key: Mapping[str, object]) -> PublicKey | None:
    """The key; None for one that can't be used, which is no reason to let nobody in."""
    algorithm = _algorithm(key)
    if algorithm is None:
        return None
    try:
        return PublicKey(jwt.PyJWK(dict(key), algorithm).key, algorithm)
    except jwt.PyJWTError as error:
        logger.warning("[ACE Server] ACE_JWKS: a key can't be used: %s", type(error).__name__)
        return None


def _algorithm(key: Mapping[str, object]) -> str | None:
    """The algorithm of a key that may verify signatures, None for any other key."""
    kind, use = str(key.get("kty")), key.get("use", "sig")
    allowed = _ALGORITHMS.get(kind, ())
    if use != "sig" or not allowed:
        return None
    said = key.get("alg") or (_BY_CURVE.get(str(key.get("crv"))) if kind == "EC" else allowed[0])
    return str(said) if said in allowed else None
