"""A test leaves the project's logger as it found it: a command in the test's process takes it over.

The next test that reads what was logged would find nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, bool, bool]:
    """Put back what a test and its fixtures set."""
    logger = logging.getLogger("ace_graph")
    handlers, filters = list(logger.handlers), list(logger.filters)
    level, propagate, disabled = logger.level, logger.propagate, logger.disabled
    try:
        return (yield)
    finally:
        logger.handlers, logger.filters = handlers, filters
        logger.setLevel(level)  # clears what loggers remember of levels
        logger.propagate, logger.disabled = propagate, disabled
