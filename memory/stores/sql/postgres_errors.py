"""Translates the driver's errors into those of this project; each message says what to do.

No message contains a password, a statement or a stored value. The driver's own error is the cause
(`__cause__`) of the one raised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout

from ace_graph.base.errors import (
    CommitContention,
    StoreAuthError,
    StoreError,
    StoreUnavailable,
    StoreUrlError,
)

_SCHEMES = ("postgresql", "postgres")
_FORM = "is like postgresql://user:password@host:5432/database"
_LOST = ("57P01", "57P02", "57P03")  # the server shuts down, crashed, or starts
_CONTENTION = ("40001", "40P01", "55P03")
_REASONS = ("Connection refused", "the database system is starting up", "could not translate host name")
_LOGIN = ("password", "authentication", "role ", "pg_hba", "no pg_hba.conf entry", "SASL", "certificate")


@dataclass(frozen=True)
class Address:
    """A database's URL, its parts and the setting that names it, for messages.

    The password appears in no message and no repr.
    """

    url: str = field(repr=False)
    place: str
    user: str
    database: str
    setting: str


def checked_address(url: str, setting: str = "ACE_STORE") -> Address:
    """Return the address. Raises StoreUrlError, which never quotes a password."""
    try:
        parts = urlsplit(url)
        known = conninfo_to_dict(url)
        place = parts.netloc.rpartition("@")[2] or str(known.get("host", "the local socket"))
    except (ValueError, psycopg.Error) as error:
        raise StoreUrlError(f"the address of PostgreSQL can't be read: {setting} {_FORM}") from error
    if parts.scheme not in _SCHEMES:
        raise StoreUrlError(f"an address of PostgreSQL begins with postgresql://: {setting} {_FORM}")
    ports = str(known.get("port") or "").split(",")
    if not all(port.isdecimal() or not port for port in ports):
        raise StoreUrlError(f"the port in the address of PostgreSQL is no number: {setting} {_FORM}")
    user = str(known.get("user") or "")
    return Address(url, unquote(place), user, str(known.get("dbname") or user), setting)


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, so that others of the pool may be, too."""
    if not isinstance(error, psycopg.OperationalError) or isinstance(error, PoolTimeout):
        return False
    return error.sqlstate is None or error.sqlstate.startswith("08") or error.sqlstate in _LOST


def is_retryable(error: BaseException) -> bool:
    """Whether a retry may succeed. A retry is safe, because every write has an op id."""
    return is_lost(error) or (isinstance(error, psycopg.Error) and error.sqlstate in _CONTENTION)


def translated(error: Exception, address: Address) -> StoreError:
    """Return the error to raise instead of the driver's."""
    place = f"PostgreSQL at {address.place}"
    if isinstance(error, PoolTimeout):
        return StoreUnavailable(
            f"{place}: all connections of this process were busy: raise ACE_POSTGRES_CONNECTIONS, or run "
            "fewer turns at once"
        )
    if isinstance(error, psycopg.Error) and error.sqlstate is not None:
        return _refused(error, error.sqlstate, address)
    if isinstance(error, psycopg.OperationalError):
        return _no_connection(error, address)
    if isinstance(error, TimeoutError):
        return StoreUnavailable(
            f"{place} did not answer in time: check that it runs and that {address.setting} names "
            "the right host"
        )
    if isinstance(error, OSError):
        return StoreUnavailable(
            f"{place} can't be reached ({error.strerror}): check the host in {address.setting}"
        )
    return StoreError(f"{place} failed ({type(error).__name__}): look into its log")


def _no_connection(error: psycopg.OperationalError, address: Address) -> StoreError:
    """The error of a connection that could not be made; the driver gives a text only."""
    place, said = f"PostgreSQL at {address.place}", str(error)
    if f'database "{address.database}" does not exist' in said:
        return StoreUnavailable(
            f"{place} has no database {address.database!r}: create it, or name another in {address.setting}"
        )
    if "permission denied for database" in said:
        return StoreAuthError(
            f"{place} does not let the user {address.user!r} connect to the database {address.database!r}: "
            "GRANT CONNECT ON DATABASE to it"
        )
    if any(word in said for word in _LOGIN):
        who = f"the user {address.user!r}" if address.user else "a login without a user"
        return StoreAuthError(f"{place} refused {who}: check the user and the password in {address.setting}")
    if "too many" in said or "remaining connection slots" in said:
        return StoreUnavailable(
            f"{place} has no connection left: lower ACE_POSTGRES_CONNECTIONS, raise the server's "
            "max_connections, or put pgbouncer before it"
        )
    if "session is read-only" in said or "server is in hot standby" in said:
        return _read_only(address)
    return StoreUnavailable(
        f"{place} can't be reached{_reason(said)}: check that it runs and that {address.setting} names "
        "the right host"
    )


def _read_only(address: Address) -> StoreUnavailable:
    return StoreUnavailable(
        f"PostgreSQL at {address.place} is read-only: name the primary server in {address.setting}, or all "
        "servers (host1,host2), of which the primary is found"
    )


def _reason(said: str) -> str:
    """What the driver said, in a few words."""
    for reason in (
        "Connection refused",
        "the database system is starting up",
        "could not translate host name",
    ):
        if reason.lower() in said.lower():
            return f" ({reason[:1].lower()}{reason[1:]})"
    return ""


def _refused(error: psycopg.Error, state: str, address: Address) -> StoreError:
    place = f"PostgreSQL at {address.place}"
    if state in ("42501", "3F000"):  # no right, or no schema that may be used
        return StoreAuthError(
            f"{place} does not allow this to the user {address.user!r}: GRANT USAGE, CREATE ON SCHEMA public "
            f"of the database {address.database!r} to it, or make it the owner of the tables ace_*"
        )
    if state in _CONTENTION:
        return CommitContention(f"other writers kept {place} busy ({state}): make the same commit again")
    if state == "25006":
        return _read_only(address)
    if state in ("53100", "53200"):
        return StoreUnavailable(f"{place} has no room left ({state}): make room on its disk")
    if state.startswith(("08", "53", "57", "58", "XX")):
        return StoreUnavailable(f"{place} failed ({state}): look into the server's log")
    return StoreError(f"{place} refused a statement ({state}): look into the server's log")
