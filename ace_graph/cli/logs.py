"""The program's log on stderr: one line per record, as text or as JSON.

Only the command line installs it; a program that embeds the library has its own handlers.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from ace_graph.cli.terminal import printable
from ace_graph.settings import LogFormat, LogLevel, Settings

__all__ = ["install_logging", "log_content_by_default", "log_level"]

_NAME = "ace_graph"


def _request_id(record: logging.LogRecord) -> str | None:
    """Return the id of the request that a record belongs to; only the server's records have one."""
    found: object = getattr(record, "request_id", None)
    return found if isinstance(found, str) else None


class _OneLine(logging.Formatter):
    """Time, level and message, and an exception in the same line; with `debug` its traceback follows."""

    def __init__(self, *, debug: bool) -> None:
        super().__init__()
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        line = f"{at} {record.levelname} {printable(record.getMessage())}"
        request = _request_id(record)
        line += f" request={request}" if request and "request=" not in line else ""
        if record.exc_info and record.exc_info[1] is not None:
            line += f" ({_exception_text(record.exc_info[1])})"
            if self._debug:
                line += f"\n{self.formatException(record.exc_info)}"
        return line


class _JsonLine(logging.Formatter):
    """One JSON object per record."""

    def __init__(self, *, debug: bool) -> None:
        super().__init__()
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        request = _request_id(record)
        if request is not None:
            fields["request_id"] = request
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = _exception_text(record.exc_info[1])
            if self._debug:
                fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=True)


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
    logger = logging.getLogger(_NAME)
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


def _exception_text(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}")
