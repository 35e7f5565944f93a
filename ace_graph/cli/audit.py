"""What `playbook audit` prints: findings with the commands that mend them, and figures for a board."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from ace_graph import playbooks
from ace_graph.base.clock import utc_now
from ace_graph.cli.command import DEFAULT_LEARNER, DEFAULT_NAME, Call
from ace_graph.cli.terminal import counted, picked, print_notice
from ace_graph.learning.graph_drawing import hides
from ace_graph.memory.audit import Act, Audit
from ace_graph.memory.audit import audit as audited
from ace_graph.memory.delta.operations import Merge, Quarantine, Remove, Supersede
from ace_graph.memory.formats.reading import Reading
from ace_graph.memory.formats.registry import as_playbook
from ace_graph.stores import policy_of


def audit_playbook(call: Call) -> Audit:
    """Return what is rotten in the playbook of a call."""
    return call.on_playbook(lambda _, target: playbooks.audit(target, hides=hides))


def audit_file(call: Call, reading: Reading) -> Audit:
    """Return what is rotten in the bullets of a file; the database is not opened."""
    for each in reading.refused:
        print_notice(f"not read {each.what}: {each.why}")
    found = audited(as_playbook(reading), None, policy_of(call.settings()), utc_now(), hides)
    return found.model_copy(update={"findings": tuple(each.without_act() for each in found.findings)})


def report(call: Call, found: Audit, fail_on: Sequence[str], limit: int, *, mends: bool) -> int:
    """Print an audit, and return the exit code: 1 where a finding is one of `fail_on`."""
    failing = found.failing(fail_on)
    told = ("kind", "severity", "ids", "why", "do", "texts")
    rows = [{**picked(each, *told), "command": command_of(each.act, call)} for each in found.findings]
    share = round(found.clean_share, 4)
    figures = {**picked(found, "version", "bullets", "clean", "counts"), "clean_share": share}
    call.answer(
        {**figures, "failing": len(failing), "findings": rows}, _lines(call, found, limit, mends=mends)
    )
    return int(bool(failing))


def _lines(call: Call, found: Audit, limit: int, *, mends: bool) -> Iterator[str]:
    for finding in found.findings[:limit]:
        yield f"{finding.severity} {finding.kind}{': ' if finding.why else ''}{finding.why}"
        for name, text in zip(finding.ids, finding.texts, strict=True):
            yield f"  [{name}] {text or '(not shown)'}"
        yield f"  {finding.do}"
        if (written := command_of(finding.act, call)) is not None:
            yield f"  {written}"
    if len(found.findings) > limit:
        yield f"… and {len(found.findings) - limit} more: --limit {len(found.findings)} shows all"
    counts = ", ".join(f"{number} {kind}" for kind, number in found.counts.items() if number)
    share = f"{found.clean} without a finding ({found.clean_share:.0%})"
    yield f"{counted(found.bullets, 'bullet')}, {share}{': ' if counts else ''}{counts}"
    if mends and found.findings and found.version is not None:
        yield f"playbook rollback {found.version} takes back what these commands change"


def command_of(act: Act | None, call: Call) -> str | None:
    """Return the command that does it; no bullet's id is taken for an option, and no password is shown."""
    ids: tuple[str, ...] = ()
    match act:
        case None:
            return None
        case Remove():
            verb, ids, options = "remove", (act.bullet_id,), list[str]()
        case Supersede():
            verb, ids, options = "remove", (act.bullet_id,), [f"--replaced-by={act.by}"]
        case Merge():
            verb, ids, options = "merge", act.bullet_ids, []
        case Quarantine():
            verb, ids, options = "edit", (act.bullet_id,), [f"--quarantine={act.why}"]
        case _:
            verb, options = "consolidate", []
    store = call.store and (call.store if urlsplit(call.store).password is None else "URL")
    given = {"learner": call.learner, "name": call.name, "store": store}
    usual = {"learner": DEFAULT_LEARNER, "name": DEFAULT_NAME, "store": None}
    options += [f"--{option}={value}" for option, value in given.items() if value != usual[option]]
    end = ["--"] if any(name.startswith("-") for name in ids) else []
    return shlex.join(["ace-graph", "playbook", verb, *options, *end, *ids])
