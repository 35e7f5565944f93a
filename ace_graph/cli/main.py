"""`ace-graph`: the root of all commands, and how errors end.

What goes wrong becomes one sentence on stderr and an exit code: 0 is done, 1 failed, 2 wrong usage.
`--debug`, wherever it stands, shows the traceback. The module of a command is imported when the command is
called, so that `--help` answers at once and no command loads what only another one needs.
"""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_group

from ace_graph.base.errors import AceError, UsageError
from ace_graph.cli.command import DEBUG, CommandGroup, DeclaredCommand, debugging
from ace_graph.cli.terminal import print_notice, tolerant_streams

_TALK, _KEEP = "Talk and serve", "Look after what is learned"
_COMMANDS = {
    "demo": ("demo", _TALK, "A demonstration: two learners, two sessions, no key, no server."),
    "chat": ("chat", _TALK, "Talk to the agent."),
    "run": ("run", _TALK, "Answer one JSON object with one JSON line, for other languages."),
    "serve": ("serving", _TALK, "Serve the agent over HTTP."),
    "worker": ("worker", _TALK, "Learn from turns in the background."),
    "mcp": ("serving", _TALK, "Serve the memory to an MCP client."),
    "doctor": ("doctor", _TALK, "Check model, store, settings and versions; say how to fix them."),
    "token": ("serving", _TALK, "Print a bearer token for the web backend."),
    "playbook": ("playbook", _KEEP, "Look at what is remembered, change it, go back."),
    "learner": ("learner", _KEEP, "List the learners; export or delete everything about one."),
    "share": ("share", _KEEP, "Share playbooks with users and teams; propose bullets to others."),
    "trajectory": ("trajectory", _KEEP, "Record what programs did, step by step; look at it, judge it."),
    "reflect": ("reflect", _KEEP, "Learn from one trajectory now, or find what many have in common."),
    "adapt": ("adapt", _KEEP, "Adapt a playbook to data of your own, and measure what it is worth."),
    "store": ("store", _KEEP, "Copy, back up, check and clean a store as a whole."),
}
"""The module of each command, its panel, and its line in the list."""


class Root(CommandGroup):
    """All commands; those of the list above are loaded when they are called."""

    # Any: click's context, whose class typer keeps to itself; what a command returns is of no interest.

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take `--debug` out, wherever before a `--` it stands."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[DEBUG] = "--debug" in args[:end]
        kept = [each for each in args[:end] if each != "--debug"]
        return super().parse_args(ctx, [*kept, *args[end:]])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        self._load(args[0])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            if _is_for_typer(error):
                raise
            if debugging(ctx):
                import traceback

                traceback.print_exc()
            print_notice(_sentence(error))
            raise typer.Exit(2 if isinstance(error, UsageError) else 1) from error

    def tree(self, path: str) -> dict[str, Any]:
        """Return all commands by the words that call them, and load them."""
        for name in _COMMANDS:
            self._load(name)
        return super().tree(path)

    def _load(self, name: str) -> None:
        if not isinstance(self.commands.get(name), _NotLoaded):
            return
        file, panel, line = _COMMANDS[name]
        group = get_group(import_module(f"ace_graph.cli.{file}").commands)
        loaded: Any = group.commands.get(name, group)  # Any: a command or a group of them
        if isinstance(loaded, DeclaredCommand):
            loaded = loaded.build()
        loaded.name, loaded.short_help, loaded.rich_help_panel = name, line, panel
        loaded.help = loaded.help or line
        self.commands[name] = loaded


class _NotLoaded(TyperCommand):
    """Stands for a command in the list of all."""


app = typer.Typer(
    name="ace-graph",
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="An agent that gets better at helping each learner. Begin with `ace-graph demo`.",
    epilog="Settings come from the environment and from .env in the current folder; "
    "`ace-graph doctor` checks them.",
)
for _name, (_, _panel, _line) in _COMMANDS.items():
    app.command(_name, cls=_NotLoaded, help=_line, rich_help_panel=_panel)(lambda: None)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"ace-graph {version('ace-graph')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Options of every command."""
    tolerant_streams()


def _is_for_typer(error: Exception) -> bool:
    """Handles exits, aborts, wrong options, and a closed pipe."""
    if isinstance(error, OSError):
        return error.errno == errno.EPIPE
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code")


def _sentence(error: Exception) -> str:
    if isinstance(error, AceError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}: check the path"
    return f"unexpected {type(error).__name__}: {error}: run it again with --debug to see where"
