"""Every public name of adaptation and evaluation is there, sorted, and documented."""

from __future__ import annotations

from inspect import isclass, isfunction
from types import ModuleType

import pytest

import ace_graph.training


@pytest.mark.parametrize("module", [ace_graph.training], ids=lambda m: m.__name__)
def test_every_public_name_resolves_and_says_what_it_is(module: ModuleType) -> None:
    names: list[str] = module.__all__
    made = {name: getattr(module, name) for name in names}
    described = {name: value for name, value in made.items() if isclass(value) or isfunction(value)}
    assert [name for name, value in described.items() if not value.__doc__] == []
    assert len(made) - len(described) <= 3, "an alias, a table, and a bound"
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = module.nothing_of_this_name
