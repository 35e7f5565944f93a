"""Static vectors: what they find, and what is said where their files are missing or damaged."""

from __future__ import annotations

import logging
import math
import shutil
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import pytest

from ace_graph.agent import build_resources
from ace_graph.agent.embeddings import StaticVectors, find_static_vectors, static_vectors
from ace_graph.base import ConfigurationError, Settings
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel

WEIGHTS, TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"


def _installed() -> StaticVectors:
    found = find_static_vectors()
    assert found is not None
    return found


def _cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


def test_a_synonym_is_nearer_than_another_word() -> None:
    dog, puppy, invoice = _installed().embed_documents(["My dog", "a puppy", "an invoice"])
    assert _cosine(dog, puppy) > 2 * _cosine(dog, invoice)


def test_case_makes_no_difference() -> None:
    vectors = _installed()
    assert vectors.embed_query("SAUERTEIG") == vectors.embed_query("Sauerteig")


@pytest.mark.parametrize("text", ["", " ", "\x00", "😀😀", "x" * 80_000])
def test_any_text_has_a_finite_vector(text: str) -> None:
    vector = _installed().embed_query(text)
    assert len(vector) == 256
    assert all(map(math.isfinite, vector))


def _find(spec: ModuleSpec | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(_name: str) -> ModuleSpec | None:
        return spec

    monkeypatch.setattr(static_vectors, "find_spec", find)


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's files, which is found in place of the installed one."""
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    for name in (WEIGHTS, TOKENIZER):
        (tmp_path / name).parent.mkdir()
        shutil.copy(Path(spec.origin).parent / name, tmp_path / name)
    (tmp_path / "__init__.py").touch()
    spec.origin = str(tmp_path / "__init__.py")
    _find(spec, monkeypatch)
    return tmp_path


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:1000])


def _garble(file: Path) -> None:
    file.write_bytes(b"\xff" * 1000)


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
@pytest.mark.parametrize("harm", [Path.unlink, _cut, _garble])
def test_a_missing_or_damaged_file_is_named(copied: Path, name: str, harm: object) -> None:
    assert callable(harm)
    harm(copied / name)
    with pytest.raises(ConfigurationError, match=f"{Path(name).name} .*--force-reinstall"):
        _installed().embed_query("x")


def test_a_damaged_file_is_told_at_the_start_and_words_go_on(
    copied: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _cut(copied / WEIGHTS)
    with caplog.at_level(logging.WARNING, "ace_graph"):
        built = build_resources(
            settings=Settings(embeddings="static"), model=ScriptedModel([]), store=SQLiteStore()
        )
    assert built.meaning is None
    assert "is damaged (1000 bytes instead of 16384096)" in caplog.text
    assert "words alone" in caplog.text


def test_without_the_package_the_setting_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _find(None, monkeypatch)
    model, store = ScriptedModel([]), SQLiteStore()
    assert build_resources(settings=Settings(embeddings="auto"), model=model, store=store).meaning is None
    with pytest.raises(ConfigurationError, match=r"\.\[embeddings\].*3\.11 to 3\.13"):
        build_resources(settings=Settings(embeddings="static"), model=model, store=store)


def test_a_folder_of_that_name_is_not_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(static_vectors, "version", missing)
    assert find_static_vectors() is None


def test_off_means_words_alone() -> None:
    built = build_resources(settings=Settings(embeddings="off"), model=ScriptedModel([]), store=SQLiteStore())
    assert built.meaning is None
