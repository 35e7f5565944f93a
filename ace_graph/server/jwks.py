"""The public keys of tokens: a JSON Web Key Set from a file or a URL, read again when a new key is named.

The algorithm belongs to the key: the one in the set, else the one of its type and curve. Shared secrets in a
set are ignored, so that nobody can sign a token with a public key as if it were a secret.

`jwt.PyJWKClient` is not used: it knows no files, keys without an id or redirects, and forgets its keys when
the issuer is down for longer than their lifespan (docs/decisions/access.md).
"""

from __future__ import annotations

import asyncio
import json
import logging
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import jwt

from ace_graph.errors import RequestRefused
from ace_graph.server.clock import Clock

logger = logging.getLogger("ace_graph")

LIFESPAN_SECONDS = 600.0
COOLDOWN_SECONDS = 10.0
"""Between two reads because of unknown keys, so that forged key ids cause no load."""
_TIMEOUT_SECONDS = 5.0
_MAX_BYTES = 1_000_000
_PUBLIC_KEY_TYPES = frozenset({"RSA", "EC", "OKP"})


class KeySet:
    """The keys at `source`, a path or an http(s) URL."""

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
