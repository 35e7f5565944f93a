"""The folder of a run: its description (`run.json`), its steps, and the best playbook.

A run is resumed only with the same data, model, seed, settings and version as in its description.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from ace_graph.agent.models import choose_model
from ace_graph.base.errors import RunFolderError, UsageError
from ace_graph.base.text import truncate
from ace_graph.memory.formats.registry import format_named
from ace_graph.memory.playbook import Playbook
from ace_graph.stores import policy_of
from ace_graph.training.journal import FileJournal, Journal, MemoryJournal
from ace_graph.training.options import AdaptationOptions
from ace_graph.training.samples import Environment, Sample


def describe(
    kind: str,
    environment: Environment,
    options: AdaptationOptions,
    data: Mapping[str, Sequence[Sample]],
    **more: object,
) -> dict[str, object]:
    """Return the run's description. Raises ModelNotConfigured, ConfigurationError."""
    return {
        "kind": kind,
        "environment": getattr(environment, "__name__", type(environment).__name__),
        "model": _model_name(options),
        **options.as_json(),
        **more,
        "policy": policy_of(options.settings).model_dump(mode="json"),
        "data": {
            name: {"samples": len(samples), "digest": digest_of(samples)}
            for name, samples in data.items()
            if len(samples)
        },
    }


def _model_name(options: AdaptationOptions) -> str:
    model = options.model
    if model is None:
        return str(choose_model(options.settings))
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return name if isinstance(name, str) else type(model).__name__


RunDescription = Mapping[str, object]


def open_journal(out: Path | None, description: RunDescription, *, resume: bool) -> Journal:
    """Return the journal of a run that is begun, or resumed, in `out`; without a folder, one in memory.

    Raises UsageError when there is a run already, or when the one there is another; RunFolderError.
    """
    if out is None:
        return MemoryJournal()
    whole = {"version": version("ace-graph"), **description}
    _make_folder(out)
    plan = out / "run.json"
    if plan.exists():
        if not resume:
            raise UsageError(f"{out} holds a run already: resume it (--resume), or choose another folder")
        _check_same(_read(plan), json.loads(json.dumps(whole)), out)
    elif (out / "steps.jsonl").exists():
        raise UsageError(f"{out} holds a steps.jsonl without its run.json: choose another folder")
    else:
        write_whole(plan, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    return FileJournal(out / "steps.jsonl")


def keep_playbook(out: Path | None, playbook: Playbook) -> None:
    """Write `playbook.json`, which `base_playbook=` and `--base` take."""
    if out is not None:
        write_whole(out / "playbook.json", format_named("json").write(playbook))


def write_whole(path: Path, text: str) -> None:
    """Write a file as a whole or not at all. Raises RunFolderError."""
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise RunFolderError(
            f"{path}: {error.strerror}: make it writable or make room, and resume the run"
        ) from error


def digest_of(samples: Sequence[Sample]) -> str:
    """Return a hash of all samples; data that knows its own has it in `digest`."""
    known = getattr(samples, "digest", None)
    if isinstance(known, str):
        return known
    total = hashlib.sha256()
    for sample in samples:
        form = (sample.form,) if sample.form != "any" else ()
        total.update(repr((sample.id, sample.question, sample.target, sample.units, *form)).encode())
    return total.hexdigest()


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"{out}: {error.strerror}: choose a folder that can be written") from error


def _read(plan: Path) -> dict[str, object]:
    try:
        found: object = json.loads(plan.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{plan} can't be read ({error}): begin again in another folder") from error
    if not isinstance(found, dict):
        raise RunFolderError(f"{plan} does not describe a run: begin again in another folder")
    return {str(key): value for key, value in found.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # json.loads is Any


def _check_same(begun: RunDescription, description: RunDescription, out: Path) -> None:
    for name in dict.fromkeys((*begun, *description)):
        if begun.get(name) != description.get(name):
            raise UsageError(
                f"the run in {out} was begun with another {name} ({_short(begun.get(name))}, now "
                f"{_short(description.get(name))}): resume it with the same, or choose another folder"
            )


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return truncate(text, 80)
