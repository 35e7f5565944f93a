"""The settings as the command line sees them, and its log on stderr: one line per record, as text or JSON.

Settings come from the environment and from `.env` in the current folder. Only the command line installs a
log; a program that embeds the library has its own handlers.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ace_graph.base.settings import (
    LogFormat,
    LogLevel,
    Settings,
    export_others,
    unknown_in_environment,
    unknown_names,
)
from ace_graph.cli.terminal import printable

ENV_FILE = Path(".env")

logger = logging.getLogger("ace_graph")

_told = set[str]()
"""Names that were logged: a command may load its settings more than once."""


def load_settings(*, quiet: LogLevel = "INFO", debug: bool = False) -> Settings:
    """Return the settings, pass on what `.env` says to other libraries, and begin to log on stderr.

    `quiet` is the level where ACE_LOG_LEVEL is not set. A name that looks like a typo is logged once, its
    value never. Raises ConfigurationError naming each variable that is wrong.
    """
    environ = dict(os.environ)
    settings = Settings.load(ENV_FILE)
    export_others(ENV_FILE, os.environ)
    install_logging(log_level(settings, quiet), settings.log_format, debug=debug)
    _tell_typos(unknown_names(ENV_FILE), str(ENV_FILE))
    _tell_typos(unknown_in_environment(environ), "the environment")
    return settings


def _tell_typos(found: Sequence[tuple[str, str | None]], place: str) -> None:
    for name, near in found:
        advice = f"did you mean {near}?" if near else ".env.example lists what is read"
        if name not in _told:
            logger.warning("[ACE Settings] %s in %s is read by nothing: %s", name, place, advice)
            _told.add(name)


class _OneLine(logging.Formatter):
    """Time, level and message, and an exception in the same line; with `debug` its traceback follows."""

    def __init__(self, *, debug: bool) -> None:
        super().__init__()
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        at, request, error = _parts(record)
        line = f"{at:%H:%M:%S} {record.levelname} {printable(record.getMessage())}"
        line += f" request={request}" if request and "request=" not in line else ""
        if record.exc_info and error is not None:
            line += f" ({error})"
            if self._debug:
                line += f"\n{self.formatException(record.exc_info)}"
        return line


class _JsonLine(_OneLine):
    def format(self, record: logging.LogRecord) -> str:
        at, request, error = _parts(record)
        fields: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request is not None:
            fields["request_id"] = request
        if record.exc_info and error is not None:
            fields["error"] = error
            if self._debug:
                fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=True)


def _parts(record: logging.LogRecord) -> tuple[datetime, str | None, str | None]:
    """Return when it was, the id of the request (only the server's records have one), and the exception."""
    request: object = getattr(record, "request_id", None)
    error = record.exc_info[1] if record.exc_info else None
    at = datetime.fromtimestamp(record.created, UTC)
    shown = None if error is None else printable(f"{type(error).__name__}: {error}")
    return at, request if isinstance(request, str) else None, shown


class _Handler(logging.Handler):
    """Ours, so that installing twice replaces it.

    It writes to the stderr of the moment, which is another one while a prompt waits for a question.
    """

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


def install_logging(level: LogLevel, log_format: LogFormat, *, debug: bool = False) -> None:
    """Send this project's records of `level` and above to stderr."""
    for old in [each for each in logger.handlers if isinstance(each, _Handler)]:
        logger.removeHandler(old)
    handler = _Handler()
    handler.setFormatter(_JsonLine(debug=debug) if log_format == "json" else _OneLine(debug=debug))
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False


def log_level(settings: Settings, default: LogLevel) -> LogLevel:
    """Return ACE_LOG_LEVEL if it is set, else `default`."""
    return settings.log_level if "log_level" in settings.model_fields_set else default


def log_content_by_default(settings: Settings) -> Settings:
    """Return settings that log the text of questions and bullets, unless ACE_LOG_CONTENT is set."""
    return settings if settings.log_content is not None else settings.model_copy(update={"log_content": True})
