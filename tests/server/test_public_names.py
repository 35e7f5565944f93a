"""The public names of the web backend."""

from __future__ import annotations

import pytest

import ace_graph.server


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Served"):
        getattr(ace_graph.server, "Served")  # noqa: B009  as above
