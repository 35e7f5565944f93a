"""What the environment and a .env file mean, and what is said when they are wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from dotenv import dotenv_values
from pydantic import ValidationError

from ace_graph.base import ConfigurationError, Settings, cost_of, export_others, unknown_names, variable_names

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in variable_names():
        monkeypatch.delenv(name, raising=False)


def env_file(folder: Path, text: str) -> Path:
    path = folder / ".env"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_empty_environment_gives_the_documented_defaults() -> None:
    settings = Settings.load()
    assert settings.gemini_api_key is None
    assert settings.model is None
    assert (settings.gemini_model, settings.llm_temperature, settings.llm_timeout) == (
        "gemini-2.5-flash",
        0.2,
        60,
    )
    assert (settings.max_bullets, settings.curator_similarity, settings.curator_use_llm) == (1000, 0.9, False)
    assert (settings.decay_semantic, settings.decay_episodic, settings.decay_procedural) == (
        0.01,
        0.05,
        0.002,
    )
    assert (settings.neo4j_username, settings.neo4j_database) == ("neo4j", None)
    assert (settings.log_format, settings.log_level, settings.log_content) == ("text", "INFO", None)
    assert (settings.learning, settings.allowed_models, settings.replay) == (None, (), True)


def test_importing_reads_nothing_and_a_wrong_value_is_no_error_until_load() -> None:
    code = "import ace_graph.base.settings"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"ACE_LLM_TIMEOUT": "never", "PATH": ""},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_gemini_api_key_wins_over_google_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    assert _key(Settings.load()) == "second"
    monkeypatch.setenv("GEMINI_API_KEY", "first")
    assert _key(Settings.load()) == "first"


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "")
    monkeypatch.setenv("ACE_LLM_TIMEOUT", "")
    settings = Settings.load()
    assert settings.gemini_api_key is None
    assert settings.llm_timeout == 60


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = env_file(tmp_path, "GEMINI_MODEL=of-the-file\nACE_MAX_BULLETS=7\n")
    monkeypatch.setenv("GEMINI_MODEL", "of-the-environment")
    settings = Settings.load(path)
    assert (settings.gemini_model, settings.max_bullets) == ("of-the-environment", 7)


def test_a_file_is_read_only_when_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env_file(tmp_path, "ACE_MAX_BULLETS=7\n")
    monkeypatch.chdir(tmp_path)
    assert Settings.load().max_bullets == 1000


def test_a_missing_file_and_one_with_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    assert Settings.load(tmp_path / "none").max_bullets == 1000
    path = tmp_path / ".env"
    path.write_bytes(b"\xef\xbb\xbfACE_MAX_BULLETS=7\n")
    assert Settings.load(path).max_bullets == 7


def test_a_file_that_is_no_text_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_bytes(b"ACE_MODEL=\xff\xfe\xff\n")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        Settings.load(path)
    with pytest.raises(ConfigurationError, match="UTF-8"):
        unknown_names(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ACE_LLM_TEMPERATURE", "2.1"),
        ("ACE_LLM_TEMPERATURE", "nan"),
        ("ACE_LLM_TIMEOUT", "0"),
        ("ACE_LLM_TIMEOUT", "soon"),
        ("ACE_MAX_BULLETS", "0"),
        ("ACE_CURATOR_SIMILARITY", "1.5"),
        ("ACE_CURATOR_USE_LLM", "perhaps"),
        ("ACE_DECAY_EPISODIC", "nan"),
        ("ACE_LEARNING", "sometimes"),
        ("ACE_LOG_FORMAT", "xml"),
        ("ACE_LOG_LEVEL", "loud"),
    ],
)
def test_a_value_out_of_range_is_an_error_that_names_the_variable(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=name):
        Settings.load()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ACE_REPLAY", "true or false"),
        ("ACE_MAX_BULLETS", "a whole number"),
        ("ACE_HOLDOUT_RATE", "a number"),
    ],
)
def test_a_wrong_kind_of_value_is_told_what_it_must_be(
    monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.setenv(name, "maybe")
    with pytest.raises(ConfigurationError, match=f"^{name}: must be {said}$"):
        Settings.load()


def test_all_wrong_variables_are_named_at_once_and_no_secret_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACE_LLM_TIMEOUT", "-1")
    monkeypatch.setenv("ACE_MAX_BULLETS", "many")
    monkeypatch.setenv("GEMINI_API_KEY", "very-secret")
    with pytest.raises(ConfigurationError) as caught:
        Settings.load()
    assert "ACE_LLM_TIMEOUT" in str(caught.value)
    assert "ACE_MAX_BULLETS" in str(caught.value)
    assert caught.value.__context__ is None
    assert "very-secret" not in str(caught.value)


def test_secrets_are_not_in_the_representation(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "GEMINI_API_KEY": "key-1",
        "NEO4J_PASSWORD": "key-2",
        "ACE_JWT_SECRET": "key-3",
        "TAVILY_API_KEY": "key-4",
        "ACE_STORE": "neo4j://user:key-5@host",
        "NEO4J_URI": "neo4j://user:key-6@host",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    assert "key-" not in repr(Settings.load())


def test_settings_are_frozen() -> None:
    settings = Settings.load()
    with pytest.raises(ValidationError):
        settings.max_bullets = 3  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def test_lists_and_levels_are_read_leniently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_ALLOWED_MODELS", "offline, gemini-2.5-pro,")
    monkeypatch.setenv("ACE_LOG_LEVEL", "debug")
    monkeypatch.setenv("ACE_MEMORY_FILE", "~/ace.db")
    settings = Settings.load()
    assert settings.allowed_models == ("offline", "gemini-2.5-pro")
    assert settings.log_level == "DEBUG"
    assert settings.memory_file == Path.home() / "ace.db"


def test_the_store_is_found_in_a_fixed_order_of_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    default = Settings.load().store_url
    assert default.startswith("sqlite:///")
    assert default.endswith("ace.db")
    monkeypatch.setenv("NEO4J_URI", "neo4j://db:7687")
    assert Settings.load().store_url == "neo4j://db:7687"
    monkeypatch.setenv("ACE_MEMORY_FILE", "/data/memory.db")
    assert Settings.load().store_url == "sqlite:////data/memory.db"
    monkeypatch.setenv("ACE_STORE", "memory://")
    assert Settings.load().store_url == "memory://"


def test_typos_in_a_file_are_found_with_what_was_meant(tmp_path: Path) -> None:
    path = env_file(
        tmp_path,
        "GEMINI_API_KEI=x\nNEO4J_PASWORD=x\nACE_SOMETHING=1\nTAVILY_APIKEY=x\n"
        "OPENAI_API_KEY=x\nHOME=/home/me\nace_model=offline\nNEO4J_TEST_URI=x\n",
    )
    assert unknown_names(path) == [
        ("GEMINI_API_KEI", "GEMINI_API_KEY"),
        ("NEO4J_PASWORD", "NEO4J_PASSWORD"),
        ("ACE_SOMETHING", None),
        ("TAVILY_APIKEY", "TAVILY_API_KEY"),
    ]
    assert unknown_names(tmp_path / "none") == []


def test_only_variables_of_other_libraries_are_exported(tmp_path: Path) -> None:
    path = env_file(tmp_path, "OPENAI_API_KEY=file\nLANGSMITH_TRACING=false\nACE_MODEL=offline\nEMPTY=\n")
    environ = {"LANGSMITH_TRACING": "true"}
    assert export_others(path, environ) == ["OPENAI_API_KEY"]
    assert environ == {"LANGSMITH_TRACING": "true", "OPENAI_API_KEY": "file"}


def test_the_example_file_lists_all_variables_with_their_defaults() -> None:
    example = ROOT / ".env.example"
    assert sorted(dotenv_values(example)) == sorted(variable_names())
    assert Settings.load(example) == Settings.load()
    assert unknown_names(example) == []


def _key(settings: Settings) -> str | None:
    return settings.gemini_api_key.get_secret_value() if settings.gemini_api_key else None


def test_prices_are_read_per_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_PRICES", "gemini-2.5-flash=0.30/2.50, openai:gpt-5-mini = 0.25 / 2,")
    prices = Settings.load().prices
    assert prices == (("gemini-2.5-flash", 0.3, 2.5), ("openai:gpt-5-mini", 0.25, 2.0))
    assert cost_of("models/gemini-2.5-flash", 1_000_000, 0, prices) == 0.3
    assert cost_of("Gemini-2.5-Flash", 0, 1_000_000, prices) == 2.5
    assert cost_of("gpt-5-mini", 2_000_000, 500_000, prices) == 1.5
    assert cost_of("gpt-5", 1, 1, prices) is None
    assert cost_of(None, 1, 1, prices) is None
    assert cost_of("x", 1, 1, ()) is None


@pytest.mark.parametrize("text", ["m", "m=1", "=1/2", "m=1/x", "m=-1/2", "m=1/nan", "m=inf/1", "a=1/1,a=2/2"])
def test_a_price_that_is_none_says_how_to_write_one(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_PRICES", text)
    with pytest.raises(
        ConfigurationError, match=r"ACE_PRICES: .*(not a price: write model=in/out|two prices)"
    ):
        Settings.load()
