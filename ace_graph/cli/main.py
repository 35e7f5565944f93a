"""`ace-graph`: all commands, their arguments and their help.

What a command needs is imported when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ace_graph.cli.adapt import Concurrency, Limit, TaskName, TaskOption, adapt
from ace_graph.cli.app import AceGroup, debugging
from ace_graph.cli.consolidate import consolidate
from ace_graph.cli.learner import learner_commands
from ace_graph.cli.neo4j import neo4j
from ace_graph.cli.options import DEFAULT_LEARNER, Base, Json, Learner, On, StoreUrl
from ace_graph.cli.playbook_named import playbook  # with the commands of all three modules
from ace_graph.cli.share import share, team
from ace_graph.cli.store import store_commands
from ace_graph.cli.terminal import tolerant_streams
from ace_graph.cli.trajectory import trajectory
from ace_graph.errors import UsageError

__all__ = ["app"]

app = typer.Typer(
    name="ace-graph",
    cls=AceGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="An agent that gets better at helping each learner. Begin with `ace-graph demo`.",
    epilog="Settings come from the environment and from .env in the current folder; "
    "`ace-graph doctor` checks them.",
)
app.add_typer(playbook, name="playbook")
app.add_typer(adapt, name="adapt")
app.add_typer(consolidate, name="consolidate")
app.add_typer(learner_commands, name="learner")
app.add_typer(neo4j, name="neo4j")
app.add_typer(share, name="share")
app.add_typer(store_commands, name="store")
app.add_typer(team, name="team")
app.add_typer(trajectory, name="trajectory")


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


@app.command()
def demo(
    ctx: typer.Context,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="FILE", help="Keep the memory in this SQLite file.")
    ] = None,
) -> None:
    """A demonstration: two learners, two sessions, no key, no server.

    As in chat, the log stays below WARNING unless ACE_LOG_LEVEL is set.
    """
    from ace_graph.cli.demo import run_demo

    run_demo(keep, debug=debugging(ctx))


@app.command()
def chat(
    ctx: typer.Context,
    learner: Learner = DEFAULT_LEARNER,
    mode: Annotated[
        str | None, typer.Option(metavar="cot|tot|react", help="The reasoning mode for every question.")
    ] = None,
    named: Annotated[
        list[str] | None,
        typer.Option("--playbook", metavar="NAME", help="Read this named playbook, too; may be repeated."),
    ] = None,
    temporary: Annotated[
        bool, typer.Option("--temporary", help="Read and store nothing of the learner in this chat.")
    ] = False,
    base: Base = None,
    store: StoreUrl = None,
) -> None:
    """Talk to the agent. Ctrl-C stops an answer, Ctrl-D or /quit leaves.

    \b
    /playbook              what it remembers of you
    /feedback good|bad     what the last answer was worth
    /help /quit

    \b
    ace-graph chat --learner ada
    echo "What is 1/2 + 1/3?" | ace-graph chat

    The log stays below WARNING here unless ACE_LOG_LEVEL is set: ACE_LOG_LEVEL=INFO shows what is
    retrieved and learned.
    """
    from ace_graph.cli.chat import ChatOptions, run_chat

    run_chat(ChatOptions(store, learner, mode, tuple(named or ()), base, temporary, debugging(ctx)))


@app.command()
def run(ctx: typer.Context, base: Base = None, store: StoreUrl = None) -> None:
    """Answer one JSON object on stdin with one JSON line on stdout; for backends in other languages.

    \b
    echo '{"messages": [{"role": "user", "content": "What is 12 * 5?"}],
           "scratch": {"learner_id": "ada"}}' | ace-graph run

    The log goes to stderr. An error is {"error": "..."} and exit code 1.
    """
    from ace_graph.cli.run import run_once

    raise typer.Exit(run_once(store, base, debug=debugging(ctx)))


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on; any but 127.0.0.1 needs tokens.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one and prints it.")
    ] = 8000,
    base: Base = None,
) -> None:
    """Serve the agent over HTTP: JSON and server-sent events, learning after the answer.

    \b
    ace-graph serve
    curl localhost:8000/api/ai/chat -H 'Content-Type: application/json' \\
         -d '{"message": "What is 1/2 + 1/3?"}'

    It needs a model (GEMINI_API_KEY, or ACE_MODEL), and the extra of pip install '.\\[server]'. Without
    ACE_JWT_SECRET or ACE_JWKS it is in development mode: no token is asked for, it listens on this
    machine only, and everybody is the learner `local`. With one of them the learner is the token's
    subject. GET /openapi.json describes all routes; docs/deploy.md tells how to run it for others.
    Ctrl-C ends it: turns under way are finished, or left to the next server.
    """
    from ace_graph.cli.serve import run_server

    raise typer.Exit(run_server(host, port, base))


@app.command()
def token(
    learner: Learner = DEFAULT_LEARNER,
    expires: Annotated[
        str, typer.Option("--expires", metavar="TIME", help="How long it holds: 15m, 12h, 30d.")
    ] = "1d",
    operator: Annotated[
        bool, typer.Option("--operator", help="Its holder may also name other learners (X-ACE-Learner).")
    ] = False,
) -> None:
    """Print a bearer token for the web backend, the page and MCP over HTTP, signed with ACE_JWT_SECRET.

    \b
    ace-graph token --learner ada
    curl localhost:8000/api/playbook -H "Authorization: Bearer $(ace-graph token --learner ada)"
    ace-graph token --learner root --operator --expires 12h

    Whoever has it is that learner until it expires; only another ACE_JWT_SECRET ends it before. --operator
    sets the claim that ACE_JWT_OPERATOR_CLAIM names.
    """
    from ace_graph.cli.token import print_token

    print_token(learner, expires, operator=operator)


@app.command()
def mcp(
    learner: Learner = DEFAULT_LEARNER,
    store: StoreUrl = None,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP at /mcp instead of stdio.")] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="--http: the address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="--http: the port; 0: a free one.")] = 8001,
) -> None:
    """Serve the memory to an MCP client, which starts this command and speaks with it over stdio.

    \b
    {"mcpServers": {"memory": {"command": "ace-graph", "args": ["mcp", "--learner", "ada"]}}}

    Its tools reach the memory of --learner alone; with --http that of the bearer token's subject, as in
    `ace-graph serve`. It needs the extra of pip install '.\\[mcp]'. The log is at WARNING, or at
    ACE_LOG_LEVEL.
    """
    from ace_graph.cli.mcp import run_mcp

    run_mcp(learner, store, http, host, port)


@app.command()
def compare(
    ctx: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="none, a playbook's file, or settings; see below.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other side.")],
    data: Annotated[
        Path,
        typer.Option(
            "--data", metavar="FILE", help='Rows, {"context", "target"} each; targets may be missing.'
        ),
    ],
    task: TaskOption = TaskName.qa,
    limit: Limit = None,
    concurrency: Concurrency = 4,
    show: Annotated[int, typer.Option(min=0, metavar="N", help="Rows shown with both answers.")] = 20,
    as_json: Json = False,
    on: On = None,
) -> None:
    """Compare two playbooks, or two settings, on the same rows: both answers and both accuracies.

    \b
    ace-graph compare none run/playbook.json --task formula --data test.jsonl
    ace-graph compare old.json new.json --data questions.jsonl
    ace-graph compare mode=cot mode=react --data questions.jsonl
    ace-graph compare run,GEMINI_MODEL=gemini-2.5-flash run,GEMINI_MODEL=gemini-2.5-pro --data test.jsonl

    A side is a file in any format that import knows, the folder of an adaptation, or none, and settings after
    commas: variables of the environment, fields of the context, mode. Nothing is learned or stored.
    """
    from ace_graph.cli.compare import CompareOptions, run_compare

    options = CompareOptions(data, task.value, limit, concurrency, show, on)
    raise typer.Exit(run_compare((a, b), options, as_json=as_json, debug=debugging(ctx)))


@app.command()
def worker(
    ctx: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="End when nothing is pending or leased, dead letters aside.")
    ] = False,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Turns at the same time, each of another learner.")
    ] = 4,
    on: On = None,
    store: StoreUrl = None,
) -> None:
    """Learn from the turns that ACE_LEARNING=background left; any number of workers may run.

    \b
    ACE_LEARNING=background ace-graph run < question.json
    ace-graph worker --once
    ace-graph worker --once --on ray

    It needs a model (GEMINI_API_KEY, or ACE_MODEL). A lease lasts 30 s and is renewed while a turn is
    worked on; a worker that dies loses nothing. Ctrl-C ends it when what is under way is done.
    """
    from ace_graph.cli.worker import run_worker

    raise typer.Exit(run_worker(store, concurrency, once=once, on=on, debug=debugging(ctx)))


@app.command()
def gc(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be deleted; delete nothing.")
    ] = False,
    learner: Annotated[
        str | None,
        typer.Option("--learner", "-l", metavar="ID", help="The memory of this learner only."),
    ] = None,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Delete what is older than the settings keep; servers and workers do it by themselves.

    \b
    ace-graph gc --dry-run

    Steps of turns go after ACE_TRACE_DAYS (30) once they were reflected on, records of turns and the keys of
    commits after ACE_RECORD_DAYS (90); failures stay unless ACE_TRACE_FAILURES=false, and so does what
    something refers to. Conversations with the web backend go once ACE_CONVERSATION_DAYS or
    ACE_CONVERSATIONS_KEPT is set. docs/background.md tells the rest.
    """
    from ace_graph.cli.gc import run_gc

    raise typer.Exit(run_gc(store, learner, dry_run=dry_run, as_json=as_json))


@app.command()
def reflect(
    ctx: typer.Context,
    trajectory_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="A trajectory, or the id of pending work.")
    ] = None,
    batch: Annotated[
        bool,
        typer.Option("--batch", help="Find what many runs have in common, instead of reflecting on one."),
    ] = False,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="--batch: who did them.")
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="--batch: what kind of task they are.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME", help="--batch: completed on this day (UTC) or later, such as 2026-01-31."
        ),
    ] = None,
    minimum: Annotated[
        int, typer.Option("--min", metavar="N", help="--batch: how many runs there must be, at least 2.")
    ] = 5,
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Learn from one trajectory now; or, with --batch, find what many runs have in common.

    \b
    ace-graph reflect 3f2a...
    ace-graph reflect --batch --agent crawler --since 2026-01-01

    What failed too often is tried again. --batch needs no model; `playbook curate` takes the ids it prints.
    """
    from ace_graph.cli.reflections import BatchQuery
    from ace_graph.cli.reflections import batch as run_batch
    from ace_graph.cli.worker import reflect as run_reflect

    query = BatchQuery(agent, type_, since, minimum)
    _check_what_to_reflect_on(trajectory_id, batch=batch, filtered=query.given)
    if batch:
        run_batch(store, learner, query, as_json=as_json)
        return
    raise typer.Exit(run_reflect(store, learner, trajectory_id or "", as_json=as_json, debug=debugging(ctx)))


def _check_what_to_reflect_on(trajectory_id: str | None, *, batch: bool, filtered: bool) -> None:
    """Raise UsageError unless one trajectory or a batch is named."""
    if bool(trajectory_id) == batch:
        raise UsageError(
            "say what to reflect on, one of both: ace-graph reflect ID, or ace-graph reflect --batch; "
            "trajectory list shows the ids"
        )
    if filtered and not batch:
        raise UsageError("--agent, --type, --since and --min select the runs of --batch: add it")


@app.command()
def feedback(
    ctx: typer.Context,
    trajectory_id: Annotated[str, typer.Argument(metavar="ID", help="A trajectory.")],
    verdict: Annotated[str, typer.Argument(metavar="good|bad", help="What it was worth.")],
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Why; the right answer.")] = "",
    learner: Learner = DEFAULT_LEARNER,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Judge a trajectory: votes on the bullets that it followed, and a reason to learn from it again."""
    from ace_graph.cli.worker import feedback as run_feedback

    raise typer.Exit(
        run_feedback(store, learner, trajectory_id, verdict, text, as_json=as_json, debug=debugging(ctx))
    )


@app.command()
def doctor(
    ask: Annotated[
        bool, typer.Option("--ask", help="Also call the model six times, and say what failed and the cost.")
    ] = False,
    as_json: Json = False,
    store: StoreUrl = None,
) -> None:
    """Check model, store, settings and versions; say what is missing and how to fix it.

    --ask tries what turns need of the model: an answer, a stream, a reflection, a tool call, a reply that is
    cut, a refusal. It costs about a thousand tokens; ACE_PRICES makes a price of them.
    """
    from ace_graph.cli.doctor import run_doctor

    raise typer.Exit(run_doctor(store, ask=ask, as_json=as_json))
