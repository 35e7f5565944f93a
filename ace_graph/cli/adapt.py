"""The commands `ace-graph adapt ...`: adapt a playbook to data of your own, and compare two on the same rows.

What they do is in `measuring`, which is imported when one is called: it loads the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from ace_graph.cli.command import Bounds, Call, CommandGroup, On, command

commands = typer.Typer(cls=CommandGroup, no_args_is_help=True)


TaskOption = Annotated[
    Literal["formula", "finer", "qa"],
    "--task",
    ("How answers are scored. formula: one number. finer: labels between commas. qa: words or numbers."),
]
Limit = Annotated[int | None, "--limit N", "Use the first N rows of each file only.", Bounds(1)]
Concurrency = Annotated[
    int,
    "--concurrency N",
    ("Rows answered at once while nothing is learned, with --on per process."),
    Bounds(1),
]


@dataclass(frozen=True)
class RunOptions:
    """The options that both kinds of adaptation take."""

    task: TaskOption
    out: Annotated[Path, "--out DIR", "Folder for results.json, playbook.json and steps.jsonl."]
    limit: Limit = None
    seed: Annotated[
        int, "--seed N", "Seed of the order of rows in each epoch and of the turns without unproven bullets."
    ] = 0
    concurrency: Concurrency = 4
    mode: Annotated[
        Literal["cot", "tot", "react", "auto"],
        "The reasoning mode for every row; auto lets the router choose for each.",
    ] = "cot"
    max_revisions: Annotated[
        int,
        "--max-revisions N",
        "While learning, retry a wrong answer at most this often. Only the first answer counts.",
        Bounds(0, 3),
    ] = 0
    max_failures: Annotated[
        int,
        "--max-failures N",
        "Stop after this many failed calls in a row. A single failed call counts as a wrong answer.",
        Bounds(1),
    ] = 10
    input_price: Annotated[
        float | None, "--input-price X", "Price of a million input tokens, for results.json.", Bounds(0)
    ] = None
    output_price: Annotated[
        float | None, "--output-price X", "Price of a million output tokens, for results.json.", Bounds(0)
    ] = None
    resume: Annotated[bool, "Continue the run in DIR."] = False
    on: On = None


@dataclass(frozen=True)
class CompareOptions:
    """How the rows of a comparison are answered and scored, and how many of them are shown."""

    task: TaskOption = "qa"
    limit: Limit = None
    concurrency: Concurrency = 4
    show: Annotated[int, "--show N", "Rows shown with both answers.", Bounds(0)] = 20
    on: On = None


@command(commands)
def offline(
    call: Call,
    train: Annotated[Path, "--train FILE", 'Rows to learn from, {"context", "target"} each.'],
    options: RunOptions,
    val: Annotated[
        Path | None, "--val FILE", "Rows that measure the playbook after each epoch; the best one is kept."
    ] = None,
    test: Annotated[Path | None, "--test FILE", "Rows that measure the best playbook at the end."] = None,
    epochs: Annotated[int, "--epochs N", "Passes over the training rows.", Bounds(1)] = 1,
) -> int:
    """Learn from training rows in epochs; keep and test the best playbook.

    \b
    ace-graph adapt offline --task formula --train train.jsonl --val val.jsonl --test test.jsonl --out run
    ace-graph chat --base run/playbook.json

    Without --test the result is the best validation; without --val too, the first answers of the
    first epoch. For comparison the same rows are answered by the model alone (no_playbook), by the
    agent with an empty memory (empty_playbook), and with the last transcripts instead
    (last_transcripts). Your own store is not touched. Ctrl-C stops, --resume continues; a second
    Ctrl-C stops at once.
    """
    from ace_graph.cli.measuring import adapt_offline

    return adapt_offline(call, options, train, val, test, epochs)


@command(commands)
def online(
    call: Call,
    data: Annotated[Path, "--data FILE", 'Rows in their order, {"context", "target"} each.'],
    options: RunOptions,
) -> int:
    """Test, then learn, row by row in the order of the file.

    \b
    ace-graph adapt online --task finer --data rows.jsonl --out run

    Every row is answered before anything is learned from it. For comparison the same rows are
    answered by the model alone (no_playbook), by the agent with an empty memory (empty_playbook),
    and with the last transcripts instead (last_transcripts). Your own store is not touched. Ctrl-C
    stops, --resume continues; a second Ctrl-C stops at once.
    """
    from ace_graph.cli.measuring import adapt_online

    return adapt_online(call, options, data)


@command(commands, "as_json")
def compare(
    call: Call,
    a: Annotated[str, "A", "none, a playbook's file, or settings; see below."],
    b: Annotated[str, "B", "The other side."],
    data: Annotated[Path, "--data FILE", 'Rows, {"context", "target"} each; targets may be missing.'],
    options: CompareOptions,
) -> int:
    """Compare two playbooks, or two settings, on the same rows: both answers, and which is right more often.

    \b
    ace-graph adapt compare none run/playbook.json --task formula --data test.jsonl
    ace-graph adapt compare old.json new.json --data questions.jsonl
    ace-graph adapt compare mode=cot mode=react --data questions.jsonl
    ace-graph adapt compare run,GEMINI_MODEL=gemini-2.5-flash run,GEMINI_MODEL=gemini-2.5-pro \\
                            --data test.jsonl

    A side is a file in any format that import reads, the folder of an adaptation, or none; settings
    follow after commas: environment variables, fields of the context, mode. Nothing is learned or stored. Two
    versions of one playbook: `playbook diff A B --data FILE`. A side is called better if chance
    would give such a difference in less than 5 % of cases.
    """
    from ace_graph.cli.measuring import compare_sides

    return compare_sides(call, (a, b), data, options)
