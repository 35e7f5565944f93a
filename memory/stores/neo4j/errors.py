"""Translates the driver's errors into those of this project; each message names the setting to check.

No message contains a password, a statement or a stored value. The driver's own error is the cause
(`__cause__`) of the one raised.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import cast
from urllib.parse import SplitResult, urlsplit

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    TransientError,
)

from ace_graph.errors import CommitContention, StoreAuthError, StoreError, StoreUnavailable, StoreUrlError

__all__ = ["checked_uri", "is_retryable", "translated"]

_SCHEMES = frozenset({"neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"})
_SECURITY = "Neo.ClientError.Security."
_CHECK = "check that it runs and that its address is right (ACE_STORE, or NEO4J_URI)"


def checked_uri(uri: str) -> SplitResult:
    """Return the parts of a Neo4j address. Raises StoreUrlError, which never quotes a password."""
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError as error:
        raise StoreUrlError(
            f"the Neo4j address can't be read ({error}): ACE_STORE, or NEO4J_URI, is like neo4j://host:7687"
        ) from error
    if parts.scheme not in _SCHEMES or not parts.hostname or port == 0:
        raise StoreUrlError(
            f"a Neo4j address begins with one of {', '.join(sorted(_SCHEMES))} and names a host: "
            "ACE_STORE, or NEO4J_URI, is like neo4j://host:7687"
        )
    if parts.username is not None or parts.password is not None:
        raise StoreUrlError(
            "the Neo4j address holds a login: take it out of ACE_STORE, or NEO4J_URI, "
            "and set NEO4J_USERNAME and NEO4J_PASSWORD instead"
        )
    return parts


def is_retryable(error: BaseException) -> bool:
    """Whether a retry may succeed. A retry is safe, because every write has an op id."""
    if isinstance(error, IncompleteCommit):
        return True
    return isinstance(error, Neo4jError | DriverError) and error.is_retryable()


def translated(error: Exception, place: str, user: str | None, database: str | None) -> StoreError:
    """Return the error to raise instead of the driver's.

    `place` is the server's host and port, for the reader of the message.
    """
    if isinstance(error, Neo4jError):
        return _server_error(error, place, user, database)
    if isinstance(error, ConfigurationError):
        return StoreUnavailable(
            f"The driver can't use the address of Neo4j at {place}: check ACE_STORE, or NEO4J_URI."
        )
    if isinstance(error, TimeoutError):
        return StoreUnavailable(f"Neo4j at {place} did not answer in time: {_CHECK}.")
    reasons = [_reason(cause) for cause in _causes(error)]
    reason = next((found for found in reasons if found), "")
    return StoreUnavailable(f"Neo4j at {place} can't be reached{reason}: {_CHECK}.")


def _server_error(error: Neo4jError, place: str, user: str | None, database: str | None) -> StoreError:
    code = error.code or ""
    who = f"the user {user!r}" if user else "a login without a name"
    if code.startswith(_SECURITY) or isinstance(error, AuthError):
        return _login_error(code, place, who)
    if code == "Neo.ClientError.Database.DatabaseNotFound":
        return StoreUnavailable(
            f"Neo4j at {place} has no database {database!r}: check NEO4J_DATABASE, or leave it empty."
        )
    if isinstance(error, TransientError) and ".Transaction." in code:
        return CommitContention(
            f"Other writers kept Neo4j at {place} busy ({code}): make the same commit again."
        )
    if isinstance(error, TransientError) or code.startswith(("Neo.DatabaseError.", "Neo.TransientError.")):
        return StoreUnavailable(f"Neo4j at {place} failed ({code}): look into the server's log.")
    return StoreError(f"Neo4j at {place} refused ({code}): look into the server's log.")


def _login_error(code: str, place: str, who: str) -> StoreAuthError:
    if code == f"{_SECURITY}CredentialsExpired":
        return StoreAuthError(
            f"Neo4j at {place} wants {who} to change the first password: do that, then set NEO4J_PASSWORD."
        )
    if code == f"{_SECURITY}AuthenticationRateLimit":
        return StoreAuthError(
            f"Neo4j at {place} refuses {who} for some seconds after too many wrong passwords: "
            "check NEO4J_USERNAME and NEO4J_PASSWORD."
        )
    if code == f"{_SECURITY}Forbidden":
        return StoreAuthError(
            f"Neo4j at {place} does not allow this to {who}: it must read, write and make constraints."
        )
    return StoreAuthError(f"Neo4j at {place} refused {who}: check NEO4J_USERNAME and NEO4J_PASSWORD.")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and the chain of its causes; of a group of errors the first one."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            cause = cast("BaseExceptionGroup[BaseException]", cause).exceptions[0]
        else:
            cause = cause.__cause__ or cause.__context__


def _reason(cause: BaseException) -> str:
    if "looks like HTTP" in str(cause):
        return " (that port speaks HTTP; Bolt is usually on 7687)"
    if not isinstance(cause, OSError) or cause.errno is None:
        return ""
    return f" ({os.strerror(cause.errno) if cause.errno > 0 else cause.strerror})"
