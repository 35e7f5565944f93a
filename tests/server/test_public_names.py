"""The public names of the web backend."""

from __future__ import annotations

import pytest

import ace_graph.server
from ace_graph.server import Overrides


def test_renamed_class_is_still_found_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="Brought is now Overrides"):
        old = getattr(ace_graph.server, "Brought")  # noqa: B009  static checkers do not know the old name
    assert old is Overrides


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute"):
        getattr(ace_graph.server, "Served")  # noqa: B009  as above
