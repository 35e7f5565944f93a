"""The settings: every environment variable, its default and its range, as one frozen value.

Importing this module reads nothing. `Settings.load()` reads the process environment, and a `.env` file if one
is named. A variable of the environment overrides the file; an empty one counts as unset. Only `export_others`
changes the environment, for the variables of other libraries.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dotenv import dotenv_values
from platformdirs import user_data_path
from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ace_graph.base.errors import ConfigurationError
from ace_graph.base.prices import Price, read_prices
from ace_graph.base.retention import Retention, Tracing

LogFormat = Literal["text", "json"]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
_PREFIX = "ACE_"
_ENCODING = "utf-8-sig"  # with or without the byte order mark that some editors write
_OWN_PREFIXES = ("ACE_", "NEO4J_", "GEMINI_")
_TEST_PREFIX = "ACE_TEST_"
_TEST_NAMES = frozenset(
    {
        "ACE_REQUIRE_BROWSER",
        "ACE_REQUIRE_NEO4J",
        "ACE_REQUIRE_POSTGRES",
        "ACE_SKIP_NEO4J",
        "NEO4J_TEST_PASSWORD",
        "NEO4J_TEST_URI",
        "POSTGRES_TEST_URI",
    }
)


def _split(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def _at_least_a_day(days: float) -> float:
    if 0 < days < 1:
        raise ValueError("use 0 (for ever), or at least 1, because retries need the records")
    return days


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Prices = Annotated[
    tuple[Price, ...],
    NoDecode,
    BeforeValidator(lambda value: read_prices(value) if isinstance(value, str) else value),
]
Folder = Annotated[Path, AfterValidator(lambda path: path.expanduser())]
Rate = Annotated[float, Field(allow_inf_nan=False)]
Days = Annotated[float, Field(ge=0, le=36_500)]


def _checked_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("unknown time zone: use a name such as Europe/Berlin, or UTC") from error
    return name


TimeZone = Annotated[str, Field(max_length=64), AfterValidator(_checked_zone)]
"""The IANA name of a time zone."""
WindowSize = Annotated[int, Field(ge=0, le=100)] | Literal["all"]
"""Interactions of the conversation in the prompt."""
WindowBound = Annotated[int, Field(ge=0, le=100)]


class Settings(BaseSettings):
    """The environment's settings. Made by `Settings.load`, which explains errors.

    `llm_timeout` is in seconds per attempt, `llm_temperature` in [0, 2], `curator_similarity` in [0, 1].
    The decay rates may lie outside [0, 1]; the memory clamps them. `learning` and `log_content` are None
    if unset, because their default depends on the command. 0 days mean for ever, 0 conversations or tokens
    any number.
    """

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    gemini_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("GEMINI_API_KEY", "GOOGLE_API_KEY")
    )
    gemini_model: str = Field(default="gemini-2.5-flash", validation_alias="GEMINI_MODEL")
    gemini_base_url: str | None = Field(default=None, validation_alias="GOOGLE_GEMINI_BASE_URL")
    model: str | None = None
    llm_temperature: float = Field(default=0.2, ge=0, le=2)
    llm_timeout: float = Field(default=60.0, gt=0, le=3600)
    allowed_models: Names = ()
    daily_tokens: int = Field(default=0, ge=0)
    prices: Prices = ()
    window_size: WindowSize | None = None
    adaptive_window: bool | None = None
    window_min: WindowBound = 3
    window_max: WindowBound = 10

    store: str | None = Field(default=None, repr=False)
    memory_file: Folder | None = None
    store_timeout: float = Field(default=9.0, gt=0, le=3600)
    neo4j_uri: str | None = Field(default=None, validation_alias="NEO4J_URI", repr=False)
    neo4j_username: str = Field(default="neo4j", validation_alias="NEO4J_USERNAME")
    neo4j_password: SecretStr | None = Field(default=None, validation_alias="NEO4J_PASSWORD")
    neo4j_database: str | None = Field(default=None, validation_alias="NEO4J_DATABASE")
    neo4j_graph: bool = True
    postgres_connections: int = Field(default=16, ge=2, le=1000)
    postgres_partitions: int = Field(default=0, ge=0, le=1024)

    learning: Literal["inline", "background", "off"] | None = None
    trace_sample: float = Field(default=1.0, ge=0, le=1)
    trace_failures: bool = True
    trace_days: Days = 30.0
    record_days: Annotated[Days, AfterValidator(_at_least_a_day)] = 90.0
    history_kept: int = Field(default=500, ge=1)
    versions_kept: int = Field(default=5, ge=1)
    versions_days: float = Field(default=90.0, ge=0, le=36_500)
    versions_major: bool = True
    undo_days: Days = 30.0
    consolidate_threshold: int | None = Field(default=None, ge=0)
    consolidate_batch: int = Field(default=1000, ge=100, le=1000)
    consolidate_async: bool | None = None
    dream_after: int | None = Field(default=None, ge=0)
    dream_accepts: int | None = Field(default=None, ge=2)
    curator_use_llm: bool = False
    curator_similarity: float = Field(default=0.9, ge=0, le=1)
    embeddings: Literal["auto", "static", "off"] = "auto"
    max_bullets: int = Field(default=1000, ge=1)
    max_instructions: int = Field(default=20, ge=0)
    replay: bool = True
    sensitive_facts: Literal["keep", "ask", "drop"] = "ask"
    timezone: TimeZone = "UTC"
    holdout_rate: float = Field(default=0.05, ge=0, le=0.5)
    decay_semantic: Rate = 0.01
    decay_episodic: Rate = 0.05
    decay_procedural: Rate = 0.002
    held_mb: int = Field(default=256, ge=1)
    prompts_dir: Folder | None = None
    mcp_config: Folder | None = None

    jwt_secret: SecretStr | None = None
    jwks: str | None = None
    jwt_audience: str | None = None
    jwt_teams_claim: str | None = None
    jwt_operator_claim: str | None = None
    conversations: str | None = Field(default=None, repr=False)
    conversation_days: Days = 0.0
    conversations_kept: int = Field(default=0, ge=0)
    conversation_messages: int = Field(default=400, ge=10)
    server_worker: bool = True
    server_timeout: float = Field(default=120.0, gt=0, le=3600)
    server_grace: float = Field(default=10.0, ge=0, le=600)
    server_rate: int = Field(default=120, ge=1)
    server_turns: int = Field(default=256, ge=1)
    server_body_bytes: int = Field(default=1_048_576, ge=1_024)
    server_origins: Names = ()
    webhooks: Annotated[Names, Field(repr=False)] = ()
    webhook_secret: SecretStr | None = None
    webhooks_inner: bool = False
    server_page: bool = True
    page_token_header: str | None = None

    tavily_api_key: SecretStr | None = Field(default=None, validation_alias="TAVILY_API_KEY")

    log_format: LogFormat = "text"
    log_level: Annotated[LogLevel, BeforeValidator(_upper)] = "INFO"
    log_content: bool | None = None
    tracer_content: bool = False

    @field_validator("adaptive_window")
    @classmethod
    def _something_to_adapt(cls, adaptive: bool | None, info: ValidationInfo) -> bool | None:
        if adaptive and info.data.get("window_size") == "all":
            raise ValueError("a window of all interactions can't adapt: leave it out")
        return adaptive

    @field_validator("window_max")
    @classmethod
    def _above_the_least(cls, most: int, info: ValidationInfo) -> int:
        if most < info.data.get("window_min", 0):
            raise ValueError("must be at least ACE_WINDOW_MIN")
        return most

    @classmethod
    def load(cls, env_file: Path | None = None) -> Self:
        """Read the environment, and `env_file` if it is given and exists, which the environment overrides.

        Raises ConfigurationError that names each wrong variable, never the value of a secret.
        """
        if env_file is not None:
            _read(env_file)  # a file that can't be read is an error; pydantic-settings would skip it
        source: dict[str, Any] = {"_env_file": env_file, "_env_file_encoding": _ENCODING}  # Any: no fields
        try:
            return cls(**source)
        except ValidationError as error:
            wrong = "; ".join(_explain(detail) for detail in error.errors(include_input=False))
        raise ConfigurationError(wrong)

    @property
    def tracing(self) -> Tracing:
        """Which turns keep their steps: a share of the successful ones, and all that failed."""
        return Tracing(self.trace_sample, self.trace_failures)

    @property
    def retention(self) -> Retention:
        """How long turns, keys and old deltas are kept."""
        return Retention(self.trace_days or None, self.record_days or None, self.trace_failures)

    @property
    def consolidate_above(self) -> int | None:
        """The number of bullets above which a memory is consolidated in the background; None: never.

        Unless it is set, 10,000, or four fifths of the cap where that is less: the cap must not come first.
        """
        if self.consolidate_threshold is None:
            return min(10_000, self.max_bullets * 4 // 5)
        return self.consolidate_threshold or None

    def consolidates_later(self, learning: str) -> bool:
        """Whether a worker consolidates, and not the process that makes it due.

        Unless it is set, it does where `learning` is "background": only there are workers sure to be.
        """
        return learning == "background" if self.consolidate_async is None else self.consolidate_async

    @property
    def store_url(self) -> str:
        """The URL of the store: ACE_STORE, else ACE_MEMORY_FILE, else NEO4J_URI, else a file of the user."""
        if self.store is not None:
            return self.store
        if self.memory_file is None and self.neo4j_uri is not None:
            return self.neo4j_uri
        path = self.memory_file or user_data_path("ace-graph", appauthor=False) / "ace.db"
        return f"sqlite:///{path}"

    def with_absolute_paths(self) -> Self:
        """Return the same settings for a process in another folder."""
        files: dict[str, Path | str] = {
            name: path.absolute()
            for name in type(self).model_fields
            if isinstance(path := getattr(self, name), Path)
        }
        scheme, separator, rest = (self.store or "").partition(":///")
        if separator and scheme == "sqlite":
            files["store"] = f"sqlite:///{Path(rest).expanduser().absolute()}"
        return self.model_copy(update=files)


def variable_names() -> tuple[str, ...]:
    """Return the name of every variable that `Settings` reads, in the order of its fields."""
    return tuple(name for fields in _variables().values() for name in fields)


def unknown_names(env_file: Path) -> list[tuple[str, str | None]]:
    """Return the names in `env_file` that look like typos, each with the nearest known name, or None.

    A name looks like a typo if it has one of this project's prefixes or is close to a known name. Names of
    other libraries are ignored. Raises ConfigurationError when the file can't be read.
    """
    found = ((name, _nearest(name)) for name in _read(env_file) if not _is_known(name))
    return [each for each in found if each[1] or each[0].upper().startswith(_OWN_PREFIXES)]


def unknown_in_environment(environ: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Return the variables that look like typos, each with the nearest known name, or None.

    Only those that begin with ACE_, and those of our other prefixes that are close to a known name: the rest
    of the environment is other programs'.
    """
    found = (
        (name, _nearest(name))
        for name, value in environ.items()
        if value and name.upper().startswith(_OWN_PREFIXES) and not _is_known(name)
    )
    return sorted(each for each in found if each[1] or each[0].upper().startswith(_PREFIX))


def _is_known(name: str) -> bool:
    folded = name.upper()
    return folded in variable_names() or folded in _TEST_NAMES or folded.startswith(_TEST_PREFIX)


def _nearest(name: str) -> str | None:
    near = difflib.get_close_matches(name.upper(), variable_names(), n=1, cutoff=0.82)
    return near[0] if near else None


def export_others(env_file: Path, environ: MutableMapping[str, str]) -> list[str]:
    """Put the variables of `env_file` that are not this project's into `environ`, if they are unset there.

    Other libraries, such as those of model providers, read them from the environment only. Returns the names
    that were set. Raises ConfigurationError when the file can't be read.
    """
    known = variable_names()
    others = {
        name: value
        for name, value in _read(env_file).items()
        if value and name not in environ and name.upper() not in known
    }
    environ.update(others)
    return sorted(others)


def _variables() -> Mapping[str, tuple[str, ...]]:
    return {field: _names_of(field, info) for field, info in Settings.model_fields.items()}


def _names_of(field: str, info: FieldInfo) -> tuple[str, ...]:
    alias = info.validation_alias
    if isinstance(alias, AliasChoices):
        return tuple(choice for choice in alias.choices if isinstance(choice, str))
    return (alias,) if isinstance(alias, str) else (f"{_PREFIX}{field.upper()}",)


_REQUIREMENTS = {
    "bool_parsing": "must be true or false",
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
}


def _explain(detail: ErrorDetails) -> str:
    where = str(detail["loc"][0]) if detail["loc"] else ""
    names = _variables().get(where, (where,))
    what = _REQUIREMENTS.get(detail["type"]) or f"{detail['msg'][:1].lower()}{detail['msg'][1:]}"
    return f"{names[0].upper()}: {what}"


def _read(env_file: Path) -> Mapping[str, str | None]:
    try:
        return dotenv_values(env_file, encoding=_ENCODING) if env_file.is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{env_file} can't be read as UTF-8 text: {error}") from error
