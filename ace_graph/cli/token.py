"""What `ace-graph token` does: one signed bearer token on stdout, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from importlib.util import find_spec

from ace_graph.cli.environment import load_settings
from ace_graph.errors import ConfigurationError, UsageError, how_to_install
from ace_graph.memory.clock import utc_now

__all__ = ["print_token", "read_duration"]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DIGITS = 6
_LONGEST = timedelta(days=3_660)


def print_token(learner: str, expires: str, *, operator: bool) -> None:
    """Print a token. Raises UsageError for a wrong time, ConfigurationError saying what to set."""
    lasts = read_duration(expires)
    settings = load_settings(quiet="WARNING")
    if find_spec("jwt") is None:
        raise ConfigurationError(f"tokens need the packages of the web backend: {how_to_install('server')}")
    from ace_graph.server.auth import make_token

    print(make_token(settings, learner, utc_now() + lasts, operator=operator))


def read_duration(text: str) -> timedelta:
    """Return a length of time such as 90s, 15m, 12h, 30d. Raises UsageError for anything else."""
    number, unit = text.strip()[:-1], text.strip()[-1:]
    known = unit in _UNITS and number.isascii() and number.isdigit() and len(number) <= _DIGITS
    lasts = timedelta(**{_UNITS[unit]: int(number)}) if known else timedelta()
    if not timedelta() < lasts <= _LONGEST:
        raise UsageError(f"--expires is a number and s, m, h or d, such as 12h or 30d, and not {text[:20]!r}")
    return lasts
