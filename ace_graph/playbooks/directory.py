"""Which teams a user is in: asked before anything is read, with a time-out, and failing closed."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol, cast

from ace_graph.memory.rights import Caller
from ace_graph.memory.sharing import is_team

if TYPE_CHECKING:
    from collections.abc import Collection

DIRECTORY_SECONDS = 2.0
MAX_TEAMS = 1_000

_log = logging.getLogger("ace_graph")


class Directory(Protocol):
    """Knows the teams of users: the table of a store, a token's claim, or a directory service of the host."""

    async def teams_of(self, user: str) -> Collection[str]:
        """Return the names of the teams that the user is in now."""
        ...


async def caller_of(user: str, directory: Directory, seconds: float = DIRECTORY_SECONDS) -> Caller:
    """Return a user with the teams that a directory names, to be asked for once for each call.

    A directory that fails, or takes longer than `seconds`, names none: then only grants to the user hold.
    """
    try:
        async with asyncio.timeout(seconds):
            named = await directory.teams_of(user)
        return Caller(user, listed_teams(named))
    except Exception as error:
        _log.warning("[ACE Sharing] the directory of teams failed, no team counts: %s", type(error).__name__)
        return Caller(user)


def listed_teams(named: object) -> frozenset[str]:
    """Return the names among what a directory or a token gave; none of more than 1,000, or of no list."""
    if not isinstance(named, list | tuple | set | frozenset):
        return frozenset()
    names = cast("Collection[object]", named)
    if len(names) > MAX_TEAMS:
        return frozenset()
    return frozenset(each for each in names if isinstance(each, str) and is_team(each))
