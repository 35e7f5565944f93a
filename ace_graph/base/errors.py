"""Every error that this project raises on purpose, in one tree.

    AceError
    ├── UsageError                     you called it wrong; the message says how to call it
    │   ├── InvalidPlaybook            a playbook's name or another field of it can't be used
    │   ├── InvalidGrant               a subject, a relation or a team can't be used, or not for this playbook
    │   ├── InvalidContext             a field of ACEContext is out of its range, or its name is unknown
    │   ├── InvalidMode                the mode is none of cot, tot, react
    │   ├── InvalidMessage             a message has no content that can be answered
    │   ├── UnknownKind                the kind of memory is none of the nine
    │   └── SyncCallOnPortal           invoke() was called from a coroutine that runs on the portal
    ├── ConfigurationError             a setting is missing or wrong; the message names it
    │   ├── ModelNotConfigured
    │   ├── ModelNotAllowed
    │   ├── PromptError                a prompt lacks a variable, or has one that nobody fills
    │   └── StoreUrlError
    ├── DailyTokensUsed                the learner has had the tokens of a day; says when there are more
    ├── ModelError                     a model call failed for good; carries the status where there was one
    ├── StoreError                     reading or writing memory failed; nothing was overwritten
    │   ├── StoreUnavailable           the server is down, the disk is full, the file is read-only
    │   ├── StoreAuthError             the user name or password is wrong
    │   ├── CorruptPayload             what is stored can't be read; it is left as it is
    │   │   └── IncompleteState        a part of a memory is missing, or is of another history
    │   ├── NewerFormat                it was written by a newer version; it is left as it is
    │   ├── OtherSchema                the database has the tables of another version; it is left as it is
    │   ├── LearnerForgotten           the learner was forgotten since the turn began
    │   ├── CommitContention           other writers always won; the commit can be made again
    │   ├── CommitTooOld               it may have been applied so long ago that nobody can tell any more
    │   └── HistoryTooShort            the version asked for was compacted away
    ├── ChangeRefused                  a change of the memory that was asked for can't be made
    │   ├── PlaybookNotFound           there is no playbook of that name, or you may not read it
    │   ├── PlaybookForbidden          you may read the playbook, but not do this with it
    │   ├── ProposalNotFound           there is no such proposal, or it is decided, or has expired
    │   ├── PlaybookExists             the owner has a playbook of that name
    │   ├── PlaybookChanged            it was changed since the version that the change is for
    │   ├── TrajectoryNotFound         the learner has no such trajectory, or no such pending work
    │   └── TrajectoryClosed           the trajectory was completed; its outcome stays as it is
    ├── ToolServerError                an MCP server can't be started or reached, or gave no reply
    ├── RequestRefused                 the web backend refuses a request; carries the HTTP status
    ├── FormatError                    a file holds no bullets, or is not in the format it is read as
    ├── DatasetError                   a file of tasks can't be read, or no row of it can be used
    ├── ClusterError                   no Ray cluster can be used, or its work failed for good
    ├── AdaptationError                an adaptation can't go on; what was done is kept and can be resumed
    │   ├── EnvironmentFailed          the function that judges answers raised, or gave no judgement
    │   ├── ModelOutage                one model call after the other failed
    │   └── RunFolderError             the run's folder can't be written or read, or holds another run
    └── LearningError                  reflecting or curating failed; the answer stands

Errors of other libraries are turned into one of these where they are raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from math import ceil


def how_to_install(extra: str) -> str:
    """Return how to get the packages of an extra. No index has this project, so a name is not enough."""
    return (
        f"pip install '.[{extra}]' in the folder of the repository, or 'WHEEL[{extra}]' with the wheel's file"
    )


def unknown(what: str, given: object, known: Iterable[str]) -> str:
    """Return the message for a word that is not one of `known`: all of those, or of many the nearest."""
    names, text = list(known), str(given)[:40]
    near = get_close_matches(text.lower(), names, 1) if len(names) > 5 else []
    is_all = len(names) < 10
    *first, last = near or (names if is_all else names[:3])
    such_as = "" if near or is_all else "one such as "
    return f"unknown {what} {text!r}: use {such_as}{', '.join(first)}{' or ' if first else ''}{last}"


class AceError(Exception):
    """The root of the tree: `except AceError` catches everything raised on purpose."""


class UsageError(AceError, ValueError):
    """The call was wrong; calling it again the same way fails again."""


class InvalidContext(UsageError):
    """A field of the run's context is unknown or out of range."""


class InvalidMode(UsageError):
    """The mode is none of the three."""


class UnknownKind(UsageError):
    """There is no such kind of memory; the message names those there are."""


class InvalidMessage(UsageError):
    """There is no user message to answer."""


class InvalidPlaybook(UsageError):
    """A name, a scope or another field of a named playbook can't be used."""


class InvalidGrant(UsageError):
    """A grant or a team can't be made as it was asked for."""


class SyncCallOnPortal(UsageError):
    """A synchronous call was made on the portal's own loop, where it would wait for itself."""


class ConfigurationError(AceError):
    """A setting is missing or wrong."""


class ModelNotConfigured(ConfigurationError):
    """No model was passed and none is configured."""


class ModelNotAllowed(ConfigurationError):
    """The run asked for a model that `ACE_ALLOWED_MODELS` does not list."""


class PromptError(ConfigurationError):
    """A prompt file lacks a variable or names an unknown one."""


class StoreUrlError(ConfigurationError):
    """The store URL has no known scheme."""


class DailyTokensUsed(AceError):
    """The learner has had the tokens of a day (ACE_DAILY_TOKENS); `seconds` until there are more."""

    def __init__(self, limit: int, now: datetime, until: datetime) -> None:
        self.until = until
        self.seconds = max(1, ceil((until - now).total_seconds()))
        hours, minutes = divmod(ceil(self.seconds / 60), 60)
        wait = f"{hours} h {minutes} min" if hours else f"{minutes} min"
        super().__init__(
            f"That was all for today: {limit:,} tokens a day are used up. "
            f"We can go on after {until:%Y-%m-%d %H:%M} UTC, in {wait}; what I remember stays"
        )


class ModelError(AceError):
    """A model call failed for good.

    `status` is the HTTP status where there was one, else None.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class StoreError(AceError):
    """Reading or writing memory failed. What is stored was left as it was."""


class StoreUnavailable(StoreError):
    """The store can't be reached or can't be written."""


class StoreAuthError(StoreError):
    """The store refused the credentials."""


class CorruptPayload(StoreError):
    """The stored payload can't be read."""


class IncompleteState(CorruptPayload):
    """A part of a stored memory is missing or damaged, or belongs to another history."""


class NewerFormat(StoreError):
    """The stored payload was written by a newer version of this package."""


class OtherSchema(StoreError):
    """The database has the tables of another version of this package."""


class LearnerForgotten(StoreError):
    """The learner was forgotten after this turn had loaded the memory."""


class CommitContention(StoreError):
    """Every try met a newer state. The same delta can be committed again."""


class CommitTooOld(StoreError):
    """The commit is older than the keys that are kept: it may be a repeat, so it is not applied."""


class HistoryTooShort(StoreError):
    """The history was compacted past the version asked for."""


class ChangeRefused(AceError):
    """The change can't be made; the memory is as it was."""


class PlaybookNotFound(ChangeRefused):
    """There is no such playbook, or the caller may not read it: the message is the same."""


class PlaybookForbidden(ChangeRefused):
    """The caller may read the playbook, and has no right to do this with it."""


class ProposalNotFound(ChangeRefused):
    """There is no such proposal for this playbook that could still be decided."""


class PlaybookExists(ChangeRefused):
    """The owner has a playbook of this name already."""


class PlaybookChanged(ChangeRefused):
    """The playbook has another version by now than the one that the change is for."""


class TrajectoryNotFound(ChangeRefused):
    """The learner has no trajectory of that id, or nothing is pending under it."""


class ReflectionNotFound(TrajectoryNotFound):
    """The learner has no reflection of that id."""


class TrajectoryClosed(ChangeRefused):
    """The trajectory was completed: no step and no second outcome is taken."""


class ToolServerError(AceError):
    """An MCP server can't be started or reached, or a call of its tool got no reply."""


class RequestRefused(AceError):
    """The web backend refuses a request, before or while it is worked on.

    `status` is the HTTP status, `code` one word for programs, and `retry_after` the seconds after which
    asking again makes sense, where it does.
    """

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after = retry_after


class FormatError(AceError):
    """A file can't be read as a playbook, or no bullet was found in it."""


class LearningError(AceError):
    """Reflecting or curating failed. The answer stands; the result reports this."""


class DatasetError(AceError):
    """A file of tasks can't be read, or holds no row that can be used."""


class ClusterError(AceError):
    """Work on a Ray cluster can't begin, or can't go on."""


class AdaptationError(AceError):
    """An adaptation can't go on. What was done is kept; resumed, it goes on from there."""


class EnvironmentFailed(AdaptationError):
    """The function that judges answers raised, or gave something that is no judgement."""


class ModelOutage(AdaptationError):
    """So many model calls failed one after the other that going on makes no sense."""


class RunFolderError(AdaptationError):
    """The folder of a run can't be written or read, or what it holds is not this run."""
