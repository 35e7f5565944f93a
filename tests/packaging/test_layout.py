"""The two folders at the root are parts of one package, and pyproject.toml knows every package there is."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.packaging.repository import LINKED, ROOT, package_folders, pyproject, tracked

NO_LINKS = (
    "ace_graph/{name} is not a link to {name}/: this checkout was made without symbolic links. "
    "Run `git config core.symlinks true && git checkout -- ace_graph/{name}` (on Windows switch on Developer "
    "Mode first). An installed package works either way."
)


def test_the_packages_list_equals_the_folders() -> None:
    assert sorted(pyproject()["tool"]["setuptools"]["packages"]) == sorted(package_folders())


def test_every_folder_with_python_files_is_a_package() -> None:
    tops = ("ace_graph", *LINKED)
    folders = {path.parent for path in tracked("*.py") if path.parts[0] in tops}
    assert folders == set(package_folders().values())


def test_package_dir_maps_every_package_of_the_linked_folders() -> None:
    expected = {name: str(folder) for name, folder in package_folders().items() if folder.parts[0] in LINKED}
    assert pyproject()["tool"]["setuptools"]["package-dir"] == expected


@pytest.mark.parametrize("name", LINKED)
def test_the_link_in_the_package_is_the_folder_at_the_root(name: str) -> None:
    link = ROOT / "ace_graph" / name
    assert link.is_symlink(), NO_LINKS.format(name=name)
    assert link.readlink() == Path("..") / name
    assert link.samefile(ROOT / name)


@pytest.mark.parametrize("name", LINKED)
def test_the_package_imports_the_folder_at_the_root(name: str) -> None:
    module = importlib.import_module(f"ace_graph.{name}")
    assert module.__file__ is not None
    assert Path(module.__file__).resolve().parent == ROOT / name


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "ace_graph" / "py.typed").is_file()
    assert "py.typed" in pyproject()["tool"]["setuptools"]["package-data"]["ace_graph"]


def test_every_file_that_is_no_python_ships_with_its_package() -> None:
    data: dict[str, list[str]] = pyproject()["tool"]["setuptools"]["package-data"]
    folders = {folder: name for name, folder in package_folders().items()}
    for path in tracked("ace_graph/*", *(f"{name}/*" for name in LINKED)):
        home = next((folder for folder in path.parents if folder in folders), None)
        if path.suffix == ".py" or path.name == "README.md" or home is None:
            continue
        inside, patterns = path.relative_to(home), [*data["*"], *data.get(folders[home], [])]
        fits = (len(Path(each).parts) == len(inside.parts) and inside.match(each) for each in patterns)
        assert any(fits), f"{path} is in no wheel: see package-data"


def test_every_part_of_the_package_has_its_place_in_the_layers() -> None:
    contracts = pyproject()["tool"]["importlinter"]["contracts"]
    layers: list[str] = next(each["layers"] for each in contracts if each["id"] == "layers")
    placed = {part.strip(" ()").partition(".")[0] for layer in layers for part in layer.split("|")}
    modules = {path.stem for path in (ROOT / "ace_graph").glob("*.py")}
    packages = {name.split(".")[1] for name in package_folders() if "." in name}
    assert modules | packages <= placed | {"__init__", "__main__"}, "add it to the layers of import-linter"


def test_coverage_counts_the_package_and_both_folders() -> None:
    assert pyproject()["tool"]["coverage"]["run"]["source"] == ["ace_graph", "nodes", "memory"]


def test_pytest_does_not_put_test_folders_on_the_path() -> None:
    assert "--import-mode=importlib" in pyproject()["tool"]["pytest"]["ini_options"]["addopts"]


def test_no_extra_brings_torch() -> None:
    extras: dict[str, list[str]] = pyproject()["project"]["optional-dependencies"]
    assert not [line for lines in extras.values() for line in lines if "torch" in line or "sentence-" in line]
