"""Every public name of adaptation and evaluation is there, sorted, and documented."""

from __future__ import annotations

import importlib
from inspect import isclass, isfunction, ismodule
from types import ModuleType

import pytest

import ace_graph.adaptation
import ace_graph.evaluation


@pytest.mark.parametrize("module", [ace_graph.adaptation, ace_graph.evaluation], ids=lambda m: m.__name__)
def test_every_public_name_resolves_and_says_what_it_is(module: ModuleType) -> None:
    names: list[str] = module.__all__
    there = {name for name, value in vars(module).items() if not name.startswith("_") and not ismodule(value)}
    assert sorted(names) == sorted(there - {"annotations"})
    made = {name: getattr(module, name) for name in names}
    described = {name: value for name, value in made.items() if isclass(value) or isfunction(value)}
    assert [name for name, value in described.items() if not value.__doc__] == []
    assert len(made) - len(described) <= 1, "an alias, or a table"
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = module.nothing_of_this_name


OLD_NAMES = {
    **dict.fromkeys(("AdaptationOptions", "Environment", "Epoch", "OfflineAdapter", "OnlineAdapter"), ""),
    **dict.fromkeys(("Outcome", "Progress", "Sample"), ""),
    "Adapted": "AdaptationResult",
    "Measured": "Accuracy",
    "Step": "AdaptationStep",
}
"""The names of 0.1 in `ace_graph.learning`, and what they are called now where that changed."""


@pytest.mark.parametrize(("old", "new"), OLD_NAMES.items())
def test_an_adaptation_name_of_0_1_warns_and_gives_the_same(old: str, new: str) -> None:
    learning = importlib.import_module("ace_graph.learning")
    with pytest.warns(DeprecationWarning, match=rf"ace_graph\.adaptation\.{new or old};"):
        assert getattr(learning, old) is getattr(ace_graph.adaptation, new or old)


def test_learning_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = importlib.import_module("ace_graph.learning").nothing_of_this_name
