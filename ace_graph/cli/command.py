"""What all commands share: how one is declared, whose playbook in which store it means, how it answers.

    @command(playbook, *PLAYBOOK, panel="Look")
    def stats(call: Call) -> None:
        worth = call.on_playbook(lambda store, target: read_worth(store, target, call.learner))
        call.answer(figures, lines)

The decorator adds the options that it names, and passes their values in a `Call`. What a function returns is
the exit code; what it raises becomes a sentence (see `main`). Heavy imports stand in the methods, because
`ace-graph --help` imports this module.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime, time, timedelta
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    TypeVar,
    cast,
    get_type_hints,
)

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from ace_graph.base.errors import ChangeRefused, UsageError
from ace_graph.cli.terminal import print_aside, print_json, print_line

if TYPE_CHECKING:
    from ace_graph.base.settings import LogLevel, Settings
    from ace_graph.memory.commit import Commit
    from ace_graph.memory.delta.effect import Rejection
    from ace_graph.memory.stores.store import Store
    from ace_graph.playbooks.content import Change
    from ace_graph.playbooks.handle import PlaybookHandle

DEFAULT_LEARNER = "local"
DEFAULT_NAME = "default"
"""The memory that turns read and write, among a learner's playbooks."""
AUTHOR = "ace-graph"
DEBUG = "ace_graph.debug"

Learner = Annotated[str, "--learner -l --as ID", "The learner who acts."]
Base = Annotated[
    Path | None,
    "--base FILE",
    "A read-only playbook for every learner, in any format that import reads.",
]
DryRun = Annotated[bool, "--dry-run", "Show what would change; change nothing."]
Everybody = Annotated[bool, "--all", "Every learner of the store."]
On = Annotated[
    str | None,
    "--on ray[://HOST:PORT]",
    "Use a Ray cluster: ray for RAY_ADDRESS or this machine, or an address.",
]

Shared = Literal["learner", "name", "as_json", "store"]
PLAYBOOK: tuple[Shared, ...] = ("learner", "name", "as_json", "store")
LEARNER: tuple[Shared, ...] = ("learner", "as_json", "store")
STORE: tuple[Shared, ...] = ("as_json", "store")

_SHARED: Mapping[Shared, tuple[Any, object]] = {  # Any: an annotation
    "learner": (Learner, DEFAULT_LEARNER),
    "name": (
        Annotated[
            str, "--name -n NAME", "A named playbook instead of the memory; owner/name: somebody else's."
        ],
        DEFAULT_NAME,
    ),
    "as_json": (Annotated[bool, "--json", "Print JSON alone on stdout."], False),
    "store": (
        Annotated[
            str | None,
            "--store URL",
            (
                "Instead of the setting's: sqlite:///file, memory://, neo4j://host:7687 or "
                "postgresql://user@host/database."
            ),
        ],
        None,
    ),
}

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """The values of the shared options: who acts, on which playbook, in which store, and how to answer."""

    learner: str = DEFAULT_LEARNER
    name: str = DEFAULT_NAME
    as_json: bool = False
    store: str | None = None
    debug: bool = False

    def __str__(self) -> str:
        whose = f"learner {self.learner}"
        return whose if self.name == DEFAULT_NAME else f"playbook {self.name} of {whose}"

    def settings(self, quiet: LogLevel = "INFO") -> Settings:
        """Return the settings with the store of `--store`, and begin to log; see `load_settings`."""
        from ace_graph.cli.environment import load_settings

        settings = load_settings(quiet=quiet, debug=self.debug)
        return settings if self.store is None else settings.model_copy(update={"store": self.store})

    def on_store(self, job: Callable[[Store], Awaitable[T]], settings: Settings | None = None) -> T:
        """Run `job` with the opened store and return its result."""
        import asyncio

        from ace_graph.stores import open_store

        known = settings or self.settings()

        async def run() -> T:
            async with open_store(settings=known) as store:
                return await job(store)

        return asyncio.run(run())

    def on_playbook(self, job: Callable[[Store, PlaybookHandle], Awaitable[T]]) -> T:
        """Run `job` with the store and where in it the playbook is. Raises PlaybookNotFound."""
        from ace_graph.playbooks.handle import open_playbook

        async def run(store: Store) -> T:
            return await job(store, await open_playbook(store, self.name, self.learner))

        return self.on_store(run)

    def answer(self, value: Mapping[str, object], text: str | Iterable[str], *remarks: str | None) -> None:
        """Print `value` with `--json`, else the line or the lines of `text`, and on stderr the remarks."""
        if self.as_json:
            print_json(value)
            return
        for line in [text] if isinstance(text, str) else text:
            print_line(line)
        for remark in filter(None, remarks):
            print_aside(remark)

    def answer_commit(self, done: Commit, sentence: str, **first: object) -> None:
        """Print the version after a commit and what it changed, in ids; or the sentence."""
        changed = done.report.model_dump(mode="json", exclude={"refs"})
        self.answer({**first, "version": done.version.n, **changed}, sentence)


def command(
    group: typer.Typer, *shared: Shared, panel: str | None = None, name: str | None = None
) -> Callable[[Callable[Concatenate[Call, P], int | None]], Callable[Concatenate[Call, P], int | None]]:
    """Make a function a command of `group` that also takes the `shared` options, listed in a help panel.

    A parameter that is a dataclass stands for the options that are its fields. What typer's `Option` or
    `Argument` would say is said in texts: how it is written (`--output -o FILE`; `FILE` is an argument), and
    its help. The help alone is that of an option of the parameter's name, without a default of an argument.
    """

    def declare(
        function: Callable[Concatenate[Call, P], int | None],
    ) -> Callable[Concatenate[Call, P], int | None]:
        def listed() -> None: ...

        def build() -> TyperCommand:
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            alone.command(name, rich_help_panel=panel)(_taking_options(function, shared))
            return cast("TyperCommand", get_command(alone))

        listed.__name__, listed.__doc__ = getattr(function, "__name__", ""), function.__doc__
        later = cast("type[TyperCommand]", partial(DeclaredCommand, build))  # typer only calls it
        group.command(name, cls=later, rich_help_panel=panel)(listed)
        return function

    return declare


def _taking_options(
    function: Callable[Concatenate[Call, P], int | None], shared: tuple[Shared, ...]
) -> Callable[..., None]:
    """Return what typer calls with all options as keywords, and reads them from."""

    def run(**given: Any) -> None:  # Any: the values that typer has checked
        context: typer.Context = given.pop("ctx")
        call = Call(**{name: given.pop(name) for name in shared}, debug=debugging(context))
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        code = function(call, **given)  # type: ignore[call-arg]  # its own parameters
        if code:
            raise typer.Exit(code)

    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    groups: dict[str, Any] = {each.name: each.annotation for each in own if is_dataclass(each.annotation)}
    parameters = [_parameter("ctx", typer.Context)]
    for each in own:
        if each.name in groups:
            hints = get_type_hints(each.annotation, include_extras=True)
            of_group = fields(each.annotation)
            parameters += [_parameter(field.name, hints[field.name], field.default) for field in of_group]
        else:
            parameters.append(_parameter(each.name, each.annotation, each.default))
    parameters += [_parameter(name, *_SHARED[name]) for name in shared]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__name__, run.__doc__ = getattr(function, "__name__", ""), function.__doc__
    return run


class DeclaredCommand(TyperCommand):
    """Stands for a command in a list; its options are read when it is called, or its help is asked for."""

    def __init__(self, build: Callable[[], TyperCommand], **listed: Any) -> None:  # Any: typer's own
        super().__init__(**listed)
        self.build = build


@dataclass(frozen=True)
class Bounds:
    """The least and the most that the number of an option may be."""

    min: float
    max: float | None = None


def _parameter(name: str, annotation: Any, default: object = MISSING) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    given = empty if default is MISSING else default
    said = getattr(annotation, "__metadata__", ())
    if said and isinstance(said[0], str):
        *written, text = (each for each in said if isinstance(each, str))
        words = " ".join(written).split()
        flags = [word for word in words if word.startswith("-")]
        metavar = " ".join(words[len(flags) :]) or None
        if not words and annotation.__origin__ is bool:
            flags = [f"--{name.replace('_', '-')}"]
        bounds = next((vars(each) for each in said if isinstance(each, Bounds)), dict[str, Any]())
        is_option = flags or (not words and given is not empty)
        declared = typer.Option if is_option else typer.Argument
        info = declared(*flags, metavar=metavar, help=text, **bounds)
        annotation = Annotated[annotation.__origin__, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=given, annotation=annotation)


class CommandGroup(TyperGroup):
    """A group that names the nearest command of the whole program for one that it does not have."""

    # Any: click's context and commands, whose classes typer keeps to itself.

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command with its options."""
        known = self.commands.get(cmd_name)
        if isinstance(known, DeclaredCommand):
            self.commands[cmd_name] = known.build()
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is meant. An unknown one is wrong usage."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            near = _nearest(ctx, self, args[0])
            advice = f"did you mean `{near}`?" if near else f"`{ctx.command_path} --help` lists the commands"
            ctx.fail(f"there is no command {args[0]!r}: {advice}")
        return super().resolve_command(ctx, args)

    def tree(self, path: str) -> dict[str, Any]:
        """Return all commands below this group by the words that call them."""
        found = dict[str, Any]()
        for name in self.commands:
            each = self.get_command(None, name)
            found[f"{path} {name}"] = each
            if isinstance(each, CommandGroup):
                found |= each.tree(f"{path} {name}")
        return found


def _nearest(ctx: Any, group: CommandGroup, word: str) -> str | None:
    """Return the command that is called like `word`, or the option of that name, here or elsewhere."""
    siblings = get_close_matches(word, group.commands, 1)
    if siblings:
        return f"{ctx.command_path} {siblings[0]}"
    root = ctx.find_root()
    known = sorted(
        root.command.tree(root.command_path).items(),
        key=lambda item: not item[0].startswith(ctx.command_path),
    )
    called: dict[str, str] = {path.rpartition(" ")[2]: path for path, _ in reversed(known)}
    close = get_close_matches(word, called, 1, cutoff=0.8)
    if close:
        return called[close[0]]
    named = (path for path, each in known for of in each.params if f"--{word}" in of.opts)
    path = next(named, None)
    return f"{path} --{word}" if path else None


def debugging(ctx: typer.Context) -> bool:
    """Whether tracebacks are wanted."""
    return bool(ctx.meta.get(DEBUG, False))


def check_all(on: str | None, *, everybody: bool) -> None:
    """Raise UsageError where a cluster is asked for one playbook."""
    if on is not None and not everybody:
        raise UsageError("--on needs --all: add it")


def by_command(reason: str) -> Change:
    """Return a change that a command makes, now."""
    from ace_graph.base.clock import utc_now
    from ace_graph.playbooks.content import Change

    return Change(author=AUTHOR, reason=reason, now=utc_now())


def refused(rejection: Rejection) -> ChangeRefused:
    """Return the error for an operation that can't be applied, with what to do."""
    if rejection.why.startswith("unknown trajectory"):
        return ChangeRefused(f"{rejection.why}: trajectory list shows the ids")
    hint = ": playbook show lists the ids" if rejection.why == "unknown id" else ""
    return ChangeRefused(f"{rejection.id}: {rejection.why}{hint}")


def as_utc(moment: datetime | None) -> datetime | None:
    """Return a moment in UTC where its zone is not given."""
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def to_its_end(moment: datetime | None) -> datetime | None:
    """Return the last moment of a day, or the time that was given with it."""
    if moment is None or moment.time() != time():
        return moment
    return moment + timedelta(days=1, microseconds=-1)
