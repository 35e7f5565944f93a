"""The results as a page: the score of each group with its interval, and every survivor with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ace_graph.training.statistics import wilson
from benchmarks.mutants.mutation import Change, Verdict
from benchmarks.mutants.reasons import Reason, reason_for
from benchmarks.mutants.sample import GROUPS, group_of, module_of
from benchmarks.mutants.tree import BUDGET, SECOND_BUDGET

__all__ = ["UNSEEN", "page", "score_table"]

GOALS: Mapping[str, float] = {"memory core": 0.90, "learning": 0.80}
_SEEN: tuple[Verdict, ...] = ("killed", "timeout")
UNSEEN: tuple[Verdict, ...] = ("survived", "no tests", "odd")


def page(
    tried: Mapping[str, Verdict],
    changes: Mapping[str, Change],
    reasons: Sequence[Reason],
    population: Iterable[str],
    machine: Sequence[str],
    seed: int,
) -> str:
    """Return RESULTS.md. `changes` holds what every survivor changes."""
    survivors = sorted(name for name, verdict in tried.items() if verdict in UNSEEN)
    why = {name: reason_for(name, changes[name], reasons) for name in survivors}
    unexplained = [name for name in survivors if why[name] is None]
    explained = [name for name in survivors if why[name] is not None]
    return "\n".join(
        [
            "# Mutation testing",
            "",
            *_how(len(tried), seed),
            "",
            *score_table(tried, population),
            "",
            *(f"- {line}" for line in machine),
            "",
            f"## Survivors without a reason: {len(unexplained)}",
            "",
            *_listed(unexplained, changes),
            f"## Survivors with a reason: {len(explained)}",
            "",
            *_explained(explained, changes, why),
        ]
    )


def _how(many: int, seed: int) -> list[str]:
    return [
        "`make mutants` wrote this page. A mutant is the code with one small fault; a test kills it by",
        f"failing. The sample has {many} mutants, drawn with seed {seed} from every module in proportion.",
        "Each met the tests that reach its function, those of its room and the quickest first, up to",
        f"{BUDGET:.0f} s of them by the time they took without it; what survived met up to",
        f"{SECOND_BUDGET:.0f} s of tests once more, in a process that imports the code with the mutant.",
        "A run over the time limit counts as a kill; what no test reaches counts as survived. The interval",
        "is Wilson's, 95 %.",
    ]


def score_table(tried: Mapping[str, Verdict], population: Iterable[str]) -> list[str]:
    """Return the lines of the table of scores."""
    whole, lines = Counter(group_of(name) for name in population), list[str]()
    for group in GROUPS:
        counts = Counter[Verdict](verdict for name, verdict in tried.items() if group_of(name) == group)
        lines += _row(group, counts, whole[group])
    lines += _row("all", Counter[Verdict](tried.values()), sum(whole.values()))
    head = "| group | mutants | tried | killed | by time limit | no test | score | interval | goal |"
    return [head, "|---|---:|---:|---:|---:|---:|---:|---|---|", *lines]


def _row(group: str, counts: Counter[Verdict], whole: int) -> list[str]:
    seen = sum(counts[verdict] for verdict in _SEEN)
    total = seen + sum(counts[verdict] for verdict in UNSEEN)
    if not total:
        return []
    interval = wilson(seen, total)
    goal = f"{GOALS[group]:.2f}" if group in GOALS else ""
    return [
        f"| {group} | {whole} | {total} | {seen} | {counts['timeout']} | {counts['no tests']} "
        f"| {seen / total:.3f} | {interval.low:.3f} to {interval.high:.3f} | {goal} |"
    ]


def _listed(names: Sequence[str], changes: Mapping[str, Change]) -> list[str]:
    lines: list[str] = []
    for name in names:
        gone, new = changes[name]
        lines += [f"- `{_short(name)}`", "", f"      - {gone}", f"      + {new}", ""]
    return lines or ["None.", ""]


def _explained(
    names: Sequence[str], changes: Mapping[str, Change], why: Mapping[str, str | None]
) -> list[str]:
    lines: list[str] = []
    for reason in sorted({why[name] or "" for name in names}):
        of_it = [name for name in names if why[name] == reason]
        lines += [f"### {reason[:1].upper()}{reason[1:]}: {len(of_it)}", "", *_listed(of_it, changes)]
    return lines or ["None.", ""]


def _short(name: str) -> str:
    function = name.rpartition(".")[2].partition("__mutmut_")
    readable = function[0].removeprefix("x").strip("ǁ").replace("ǁ", ".").removeprefix("_")
    return f"{module_of(name).removeprefix('ace_graph.')}: {readable}, {function[2]}"
