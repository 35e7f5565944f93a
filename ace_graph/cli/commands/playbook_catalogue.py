"""What `playbook create`, `list`, `get`, `update`, `delete` and `versions` do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ace_graph import playbooks
from ace_graph.cli.commands.playbook_files import text_of
from ace_graph.cli.commands.playbook_stats import strategies_json, worth_of
from ace_graph.cli.commands.playbook_view import bullet_json, print_bullets
from ace_graph.cli.options import Which
from ace_graph.cli.store_access import AUTHOR, on_playbook, on_store
from ace_graph.cli.terminal import console, counted, print_json, print_line, printable
from ace_graph.errors import ChangeRefused, FormatError, UsageError
from ace_graph.memory.catalogue.entry import PlaybookEntry
from ace_graph.memory.formats.base import Reading
from ace_graph.memory.formats.registry import read_bullets
from ace_graph.memory.stores.base import Store
from ace_graph.memory.stores.playbooks import StoredVersion
from ace_graph.playbooks import Change, NamedPlaybook
from ace_graph.playbooks.handle import PlaybookHandle, Written
from ace_graph.playbooks.worth import Worth, read_worth

__all__ = [
    "Fields",
    "Filling",
    "How",
    "create",
    "delete",
    "entry_json",
    "filling",
    "get",
    "list_all",
    "update",
    "versions",
]


@dataclass(frozen=True)
class Fields:
    """What is stored about a new playbook beside its name."""

    description: str
    scope: str
    visibility: str


@dataclass(frozen=True)
class How:
    """How a file changes a playbook."""

    merge: bool
    keeps_label: bool


@dataclass(frozen=True)
class Filling:
    """What a new playbook is filled with, where that is from, and what it is about."""

    reading: Reading
    source: str = ""
    description: str = ""


def filling(file: Path | None, template: str | None) -> Filling:
    """Return what a file or a template holds. Raises UsageError for both, FormatError."""
    if file is not None and template is not None:
        raise UsageError("a playbook begins with a file or with a template: leave one of them out")
    if template is not None:
        known = playbooks.template(template)
        return Filling(Reading(known.bullets), f" from the template {known.name}", known.description)
    return Filling(Reading()) if file is None else Filling(_reading(file), f" from {file.name}")


def create(url: str | None, which: Which, filled: Filling, fields: Fields, *, as_json: bool) -> None:
    """Create a playbook, and say what it is."""
    reading, reason = filled.reading, f"playbook create{filled.source}"

    async def job(store: Store) -> NamedPlaybook:
        await playbooks.create(
            store,
            which.name,
            reading.bullets,
            owner=which.learner,
            description=fields.description,
            scope=fields.scope,
            visibility=fields.visibility,
            change=Change(author=AUTHOR, reason=reason),
        )
        return await playbooks.get_playbook(store, which.name, which.learner)

    made = on_store(url, job)
    if as_json:
        print_json(entry_json(made.entry))
        return
    held = counted(len(made.playbook), "bullet")
    print_line(
        f"{made.entry.name}: created, version {made.entry.version.label}, {held}; id {made.entry.playbook_id}"
    )
    _say_refused(reading, ())


def list_all(url: str | None, learner: str, *, as_json: bool) -> None:
    """Print a line for each playbook of a learner."""

    async def job(store: Store) -> list[PlaybookEntry]:
        found: list[PlaybookEntry] = []
        page = await playbooks.list_playbooks(store, learner)
        while page:
            found += page
            page = await playbooks.list_playbooks(store, learner, after=page[-1].name_key)
        return found

    found = on_store(url, job)
    if as_json:
        print_json({"playbooks": [entry_json(entry) for entry in found]})
        return
    if not found:
        console(error=True).print(f"Learner {printable(learner)} has no playbook yet.")
    for entry in found:
        about = f"  {entry.description}" if entry.description else ""
        print_line(f"{entry.name}  {entry.version.label}  {entry.updated_at:%Y-%m-%d %H:%M}{about}")


def get(url: str | None, which: Which, *, as_json: bool) -> None:
    """Print everything about one playbook, and its bullets."""

    async def job(store: Store, target: PlaybookHandle) -> tuple[NamedPlaybook, Worth]:
        return await target.read(), await read_worth(store, target, which.learner)

    found, worth = on_playbook(url, which, job)
    fields = entry_json(found.entry)
    if as_json:
        bullets = [bullet_json(bullet) for bullet in found.playbook.bullets()]
        print_json({**fields, **strategies_json(worth), "bullets": bullets})
        return
    known = {name: value for name, value in worth_of(worth).items() if value is not None}
    for name, value in {**fields, **known}.items():
        print_line(f"{name.replace('_', ' ')}: {value}")
    print_bullets(found.playbook.bullets(), found.snapshot, worth.policy)


def update(url: str | None, which: Which, file: Path, how: How, *, as_json: bool) -> None:
    """Change a playbook by a file, and say what changed."""
    reading = _reading(file)
    verb = "update" if how.merge else "update --replace"
    change = Change(author=AUTHOR, reason=f"playbook {verb} {file.name}", keeps_label=how.keeps_label)

    async def job(_: Store, target: PlaybookHandle) -> Written:
        return await target.write(reading.bullets, merge=how.merge, change=change)

    done = on_playbook(url, which, job)
    version, held = done.commit.version, counted(len(done.commit.snapshot.playbook), "bullet")
    if as_json:
        print_json(
            {
                "version": version.n,
                "label": str(version.label),
                **done.commit.report.model_dump(mode="json", exclude={"refs", "rejected"}),
                "rejected": [*(each.model_dump() for each in done.refused), *_refusals_json(reading)],
            }
        )
        return
    print_line(f"{which.name}: version {version.n} ({version.label}), {held}")
    _say_refused(reading, tuple(f"{each.id}: {each.why}" for each in done.refused))


def about(
    url: str | None, which: Which, description: str | None, scope: str | None, *, as_json: bool
) -> None:
    """Change the fields of a playbook, and print them."""
    entry = on_playbook(url, which, lambda _, target: target.edit_fields(description, scope))
    if as_json:
        print_json(entry_json(entry))
        return
    print_line(f"{entry.name}: scope {entry.scope}, {entry.description or 'no description'}")


def delete(url: str | None, which: Which) -> None:
    """Delete a playbook."""

    async def job(store: Store, target: PlaybookHandle) -> bool:
        name = which.name if target.entry is None else target.key
        return await playbooks.delete(store, name, user=which.learner)

    if not on_playbook(url, which, job):
        raise ChangeRefused(f"{which.name} was deleted by somebody else meanwhile")
    print_line(f"{which.name}: deleted")


def versions(url: str | None, which: Which, limit: int, *, as_json: bool) -> None:
    """Print the versions, the newest first."""
    found = on_store(url, lambda store: playbooks.list_versions(store, which.name, which.learner))[:limit]
    if as_json:
        print_json({"versions": [version_json(version) for version in found]})
        return
    for each in found:
        mark = " " if each.readable else "-"
        version = f"{each.n:>5}{mark} {each.label!s:>6}"
        print_line(f"{version}  {each.at:%Y-%m-%d %H:%M}  {each.author} {each.reason}")


def entry_json(entry: PlaybookEntry) -> dict[str, object]:
    """Return what is stored about a playbook beside its content."""
    return {
        "playbook_id": entry.playbook_id,
        "owner": entry.owner,
        "name": entry.name,
        "description": entry.description,
        "scope": entry.scope,
        "visibility": entry.visibility,
        "version": entry.version.n,
        "label": str(entry.version.label),
        "created_at": entry.created_at.isoformat(),
        "updated_at": entry.updated_at.isoformat(),
    }


def version_json(version: StoredVersion) -> dict[str, object]:
    """Return one version."""
    return {
        "version": version.n,
        "label": str(version.label),
        "at": version.at.isoformat(),
        "author": version.author,
        "reason": version.reason,
        "readable": version.readable,
    }


def _reading(file: Path) -> Reading:
    try:
        reading = read_bullets(text_of(file), "auto")
    except FormatError as error:
        raise FormatError(f"{file}: {error}") from error
    if reading.refused and not reading.bullets:
        raise FormatError(f"{file}: every bullet was refused ({reading.refused[0].why}): correct the file")
    return reading


def _refusals_json(reading: Reading) -> list[dict[str, str]]:
    return [{"op": "add", "id": each.what, "why": each.why} for each in reading.refused]


def _say_refused(reading: Reading, refused: tuple[str, ...]) -> None:
    for line in (*(f"{each.what}: {each.why}" for each in reading.refused), *refused):
        print_line(f"  refused {line}")
