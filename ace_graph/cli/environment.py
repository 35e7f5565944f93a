"""The settings as the command line sees them: the environment, and `.env` in the current folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from ace_graph.cli.logs import install_logging, log_level
from ace_graph.settings import LogLevel, Settings, export_others, unknown_in_environment, unknown_names

__all__ = ["ENV_FILE", "load_settings"]

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
