"""`ace-graph serve`, `mcp` and `token`: servers, and who may use them.

Without a model `serve` is an error: the offline tutor never takes the place of a model here.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from importlib.util import find_spec
from typing import Annotated

import typer

from ace_graph.base.errors import ConfigurationError, UsageError, how_to_install
from ace_graph.cli.command import DEFAULT_LEARNER, Base, Bounds, Call, command

commands = typer.Typer()


def _check_installed(names: tuple[str, ...], extra: str, what: str) -> None:
    def missing(name: str) -> bool:
        try:
            return find_spec(name) is None
        except ModuleNotFoundError:
            return True

    if any(missing(name) for name in names):
        raise ConfigurationError(f"{what}: {how_to_install(extra)}")


@command(commands)
def serve(
    call: Call,
    host: Annotated[
        str, "--host ADDRESS", "The address to listen on; any but 127.0.0.1 needs tokens."
    ] = "127.0.0.1",
    port: Annotated[int, "The port; 0 takes a free one and prints it.", Bounds(0, 65_535)] = 8000,
    base: Base = None,
) -> int:
    """Serve the agent over HTTP: JSON and server-sent events, learning after the answer.

    \b
    ace-graph serve
    curl localhost:8000/api/ai/chat -H 'Content-Type: application/json' \\
         -d '{"message": "What is 1/2 + 1/3?"}'

    It needs a model (GEMINI_API_KEY, or ACE_MODEL), and pip install '.\\[server]'. Without
    ACE_JWT_SECRET or ACE_JWKS it is in development mode: it needs no token, serves this machine
    only, and everybody is the learner `local`. With one of them the learner is the token's subject.
    GET /openapi.json describes all routes, docs/deploy.md how to run it for others. Ctrl-C stops it
    after the turns in progress, or leaves those to the next server.
    """
    needed = ("fastapi", "uvicorn", "jwt", "prometheus_client", "langgraph.checkpoint.sqlite")
    _check_installed(needed, "server", "the web backend needs more packages")
    settings = call.settings()
    from ace_graph.server.serve import serve as serve_http

    return serve_http(settings, host, port, base)


@command(commands, "learner", "store")
def mcp(
    call: Call,
    http: Annotated[bool, "Streamable HTTP at /mcp instead of stdio."] = False,
    host: Annotated[str, "--host ADDRESS", "--http: the address."] = "127.0.0.1",
    port: Annotated[int, "--http: the port; 0: a free one.", Bounds(0, 65_535)] = 8001,
) -> None:
    """Serve the memory to an MCP client, which starts this command and speaks with it over stdio.

    \b
    {"mcpServers": {"memory": {"command": "ace-graph", "args": ["mcp", "--learner", "ada"]}}}

    Its tools reach only the memory of --learner; with --http, that of the bearer token's subject,
    as in `ace-graph serve`. It needs pip install '.\\[mcp]'. The log shows warnings only, unless
    ACE_LOG_LEVEL is set.
    """
    _check_installed(("mcp", "fastapi", "jwt"), "mcp", "the MCP server needs more packages")
    if http and call.learner != DEFAULT_LEARNER:
        raise UsageError("over HTTP the learner is the subject of the token: leave --learner out")
    settings = call.settings("WARNING")  # clients show what a server writes to stderr as problems
    from ace_graph.hosts.mcp_server.transports import serve_http, serve_stdio

    store = call.store
    asyncio.run(
        serve_http(settings, host, port, store) if http else serve_stdio(settings, call.learner, store)
    )


@command(commands, "learner")
def token(
    call: Call,
    expires: Annotated[str, "--expires TIME", "How long it is valid: 15m, 12h, 30d."] = "1d",
    operator: Annotated[bool, "Its holder may also act for other learners (X-ACE-Learner)."] = False,
) -> None:
    """Print a bearer token for the web backend, the page and MCP over HTTP, signed with ACE_JWT_SECRET.

    \b
    ace-graph token --learner ada
    curl localhost:8000/api/playbook -H "Authorization: Bearer $(ace-graph token --learner ada)"
    ace-graph token --learner root --operator --expires 12h

    Anyone who has it can act as that learner until it expires; only a new ACE_JWT_SECRET revokes it
    earlier. --operator
    sets the claim that ACE_JWT_OPERATOR_CLAIM names.
    """
    number, unit = expires.strip()[:-1], expires.strip()[-1:]
    known = unit in _UNITS and number.isascii() and number.isdigit() and len(number) <= _DIGITS
    lasts = timedelta(**{_UNITS[unit]: int(number)}) if known else timedelta()
    if not timedelta() < lasts <= _LONGEST:
        raise UsageError(
            f"invalid --expires {expires[:20]!r}: use a number and s, m, h or d, such as 12h or 30d"
        )
    settings = call.settings("WARNING")
    _check_installed(("jwt",), "server", "tokens need the packages of the web backend")
    from ace_graph.base.clock import utc_now
    from ace_graph.server.auth import make_token

    print(make_token(settings, call.learner, utc_now() + lasts, operator=operator))


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DIGITS = 6
_LONGEST = timedelta(days=3_660)
