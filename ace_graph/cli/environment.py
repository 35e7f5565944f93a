"""The settings as the command line sees them: the environment, and `.env` in the current folder."""

from __future__ import annotations

import os
from pathlib import Path

from ace_graph.cli.logs import install_logging, log_level
from ace_graph.settings import LogLevel, Settings, export_others

__all__ = ["ENV_FILE", "load_settings"]

ENV_FILE = Path(".env")


def load_settings(*, quiet: LogLevel = "INFO", debug: bool = False) -> Settings:
    """Return the settings, pass on what `.env` says to other libraries, and begin to log on stderr.

    `quiet` is the level where ACE_LOG_LEVEL is not set. Raises ConfigurationError naming each variable
    that is wrong.
    """
    settings = Settings.load(ENV_FILE)
    export_others(ENV_FILE, os.environ)
    install_logging(log_level(settings, quiet), settings.log_format, debug=debug)
    return settings
