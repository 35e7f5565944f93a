"""Every public name of adaptation and evaluation is there, sorted, and documented."""

from __future__ import annotations

import importlib
from inspect import isclass, isfunction
from types import ModuleType

import pytest

import ace_graph.adaptation
import ace_graph.evaluation


@pytest.mark.parametrize("module", [ace_graph.adaptation, ace_graph.evaluation], ids=lambda m: m.__name__)
def test_every_public_name_resolves_and_says_what_it_is(module: ModuleType) -> None:
    names: list[str] = module.__all__
    assert sorted(names) == sorted(set(names)) == sorted(dir(module))
    made = {name: getattr(module, name) for name in names}
    described = {name: value for name, value in made.items() if isclass(value) or isfunction(value)}
    assert [name for name, value in described.items() if not value.__doc__] == []
    assert len(made) - len(described) <= 1, "an alias, or a table"
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = module.nothing_of_this_name


def test_the_old_place_of_a_name_of_adaptation_warns_and_gives_the_same() -> None:
    learning = importlib.import_module("ace_graph.learning")
    for name in ace_graph.adaptation.__all__:
        with pytest.warns(DeprecationWarning, match=rf"ace_graph\.adaptation\.{name}"):
            assert getattr(learning, name) is getattr(ace_graph.adaptation, name)
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = learning.nothing_of_this_name
