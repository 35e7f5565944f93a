"""Every public name of learning and evaluation is there, sorted, and documented."""

from __future__ import annotations

from types import ModuleType

import pytest

import ace_graph.evaluation
import ace_graph.learning


@pytest.mark.parametrize("module", [ace_graph.learning, ace_graph.evaluation], ids=lambda m: m.__name__)
def test_every_public_name_resolves_and_says_what_it_is(module: ModuleType) -> None:
    names: list[str] = module.__all__
    assert sorted(names) == sorted(set(names)) == sorted(dir(module))
    undocumented = [name for name in names if not getattr(getattr(module, name), "__doc__", None)]
    assert undocumented == []
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = module.nothing_of_this_name
