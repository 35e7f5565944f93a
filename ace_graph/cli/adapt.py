"""The commands `ace-graph adapt offline` and `ace-graph adapt online`: their arguments and their help.

What a command needs is imported when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ace_graph.cli.app import debugging
from ace_graph.cli.options import On

if TYPE_CHECKING:
    from ace_graph.cli.adapt_run import RunOptions

__all__ = ["Concurrency", "Limit", "TaskName", "TaskOption", "adapt"]

adapt = typer.Typer(
    no_args_is_help=True,
    help="Adapt a playbook to data of your own, and measure what it is worth.",
)


class TaskName(StrEnum):
    """The kinds of tasks, as a choice."""

    formula = "formula"
    finer = "finer"
    qa = "qa"


class ModeName(StrEnum):
    """The reasoning mode of every sample, as a choice."""

    cot = "cot"
    tot = "tot"
    react = "react"
    auto = "auto"


TaskOption = Annotated[
    TaskName,
    typer.Option(
        "--task",
        help="How answers are scored. formula: one number. finer: labels between commas, each counts. "
        "qa: an answer in words or numbers.",
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Folder for results.json, playbook.json and steps.jsonl."),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Resume the run in DIR where it stopped, for whatever reason.")
]
Epochs = Annotated[int, typer.Option("--epochs", metavar="N", min=1, help="Passes over the training rows.")]
Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Use the first N rows of each file only.")
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="Seed of the order of rows in each epoch and of the turns without unproven bullets.",
    ),
]
Concurrency = Annotated[
    int,
    typer.Option(
        "--concurrency",
        metavar="N",
        min=1,
        help="Rows answered at the same time where nothing is learned, with --on in each process; learning "
        "takes one at a time.",
    ),
]
Mode = Annotated[
    ModeName,
    typer.Option("--mode", help="The reasoning mode for every row; auto lets the router choose for each."),
]
MaxRevisions = Annotated[
    int,
    typer.Option(
        "--max-revisions",
        metavar="N",
        min=0,
        max=3,
        help="While learning, retry a wrong answer at most this often. Only the first answer counts.",
    ),
]
MaxFailures = Annotated[
    int,
    typer.Option(
        "--max-failures",
        metavar="N",
        min=1,
        help="Stop after this many failed calls in a row. A single failed call counts as a wrong answer.",
    ),
]
InputPrice = Annotated[
    float | None,
    typer.Option(
        "--input-price", metavar="X", min=0, help="Price of a million input tokens, for results.json."
    ),
]
OutputPrice = Annotated[
    float | None,
    typer.Option(
        "--output-price", metavar="X", min=0, help="Price of a million output tokens, for results.json."
    ),
]


@adapt.command()
def offline(
    ctx: typer.Context,
    task: TaskOption,
    train: Annotated[
        Path, typer.Option("--train", metavar="FILE", help='Rows to learn from, {"context", "target"} each.')
    ],
    out: Out,
    val: Annotated[
        Path | None,
        typer.Option(
            "--val",
            metavar="FILE",
            help="Rows that measure the playbook after each epoch; the best one is kept.",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option("--test", metavar="FILE", help="Rows that measure the best playbook at the end."),
    ] = None,
    epochs: Epochs = 1,
    limit: Limit = None,
    seed: Seed = 0,
    concurrency: Concurrency = 4,
    mode: Mode = ModeName.cot,
    max_revisions: MaxRevisions = 0,
    max_failures: MaxFailures = 10,
    input_price: InputPrice = None,
    output_price: OutputPrice = None,
    resume: Resume = False,
    on: On = None,
) -> None:
    """Learn from training rows in epochs; keep, and test, the best playbook.

    \b
    ace-graph adapt offline --task formula --train train.jsonl --val val.jsonl --test test.jsonl --out run
    ace-graph chat --base run/playbook.json

    Without --test the result is the best validation; without --val too, the first answers of the first
    epoch. Beside it: the model alone (no_playbook), the agent with an empty memory (empty_playbook), and with
    the last transcripts of training in its place (last_transcripts), on the same rows. Your own store is not
    touched. Ctrl-C stops so that --resume goes on; again, at once.
    """
    from ace_graph.cli.adapt_run import adapt_offline

    prices = (input_price, output_price)
    run_options = _run_options(
        ctx, task, out, resume, limit, seed, concurrency, mode, max_revisions, max_failures, prices, on
    )
    raise typer.Exit(adapt_offline(run_options, train, val, test, epochs))


@adapt.command()
def online(
    ctx: typer.Context,
    task: TaskOption,
    data: Annotated[
        Path, typer.Option("--data", metavar="FILE", help='Rows in their order, {"context", "target"} each.')
    ],
    out: Out,
    limit: Limit = None,
    seed: Seed = 0,
    concurrency: Concurrency = 4,
    mode: Mode = ModeName.cot,
    max_revisions: MaxRevisions = 0,
    max_failures: MaxFailures = 10,
    input_price: InputPrice = None,
    output_price: OutputPrice = None,
    resume: Resume = False,
    on: On = None,
) -> None:
    """Test, then learn, row by row in the order of the file.

    \b
    ace-graph adapt online --task finer --data rows.jsonl --out run

    Every row is answered before anything was learned from it. Beside it, on the same rows: the model alone
    (no_playbook), the agent with an empty memory (empty_playbook), and with the last transcripts before the
    row in its place (last_transcripts). Your own store is not touched. Ctrl-C stops so that --resume goes on;
    again, at once.
    """
    from ace_graph.cli.adapt_run import adapt_online

    prices = (input_price, output_price)
    run_options = _run_options(
        ctx, task, out, resume, limit, seed, concurrency, mode, max_revisions, max_failures, prices, on
    )
    raise typer.Exit(adapt_online(run_options, data))


def _run_options(
    ctx: typer.Context,
    task: TaskName,
    out: Path,
    resume: bool,
    limit: int | None,
    seed: int,
    concurrency: int,
    mode: ModeName,
    max_revisions: int,
    max_failures: int,
    prices: tuple[float | None, float | None],
    on: str | None,
) -> RunOptions:
    from ace_graph.cli.adapt_run import RunOptions
    from ace_graph.evaluation.reports import Prices

    given, taken = prices
    known = Prices(given or 0.0, taken or 0.0) if given is not None or taken is not None else None
    return RunOptions(
        task=task.value,
        out=out,
        resume=resume,
        limit=limit,
        seed=seed,
        concurrency=concurrency,
        mode=mode.value,
        max_revisions=max_revisions,
        max_failures=max_failures,
        prices=known,
        debug=debugging(ctx),
        on=on,
    )
