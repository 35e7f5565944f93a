"""Audit: what in a memory is rotten, what to do about each, and the one change that does it. Pure.

    found = audit(playbook, access, policy, now)
    found.clean_share, found.counts["duplicate"]
    for finding in found.findings:
        print(finding.severity, finding.kind, finding.ids, finding.why, finding.act)

Of a bullet that no prompt may hold only that is told, and what the screen finds in it. Pairs are looked for
among the likeliest of each bullet, so the work grows with the number of bullets and not with its square.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, get_args

from ace_graph.base.errors import UsageError, unknown
from ace_graph.base.frozen import Frozen
from ace_graph.base.off_loop import Steps, finish
from ace_graph.base.text import truncate
from ace_graph.memory.bullet import Bullet, Danger, Hides
from ace_graph.memory.consolidation import ConsolidationWork, find_candidates, grouped
from ace_graph.memory.delta.operations import Merge, Quarantine, Remove, Supersede
from ace_graph.memory.delta.screening import screen_bullet
from ace_graph.memory.languages.detection import likely_languages, spoken_language
from ace_graph.memory.languages.tables import FIRST
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.policy import Policy
from ace_graph.memory.retrieval.current_values import (
    age,
    earlier_values,
    is_fact,
    of_one_relation,
    same_relation,
)
from ace_graph.memory.retrieval.retrieve import EligibleBullets, Ineligible
from ace_graph.memory.screening.screen import screen
from ace_graph.memory.search.tokenize import is_spaceless, language_of
from ace_graph.memory.similarity.compare import ClaimComparison, are_distinct, compare
from ace_graph.memory.similarity.losses import losses
from ace_graph.memory.snapshot import Access

Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_High = Literal["secret", "order", "contradiction"]
_Medium = Literal["duplicate", "outdated", "expired", "harmful", "full"]
_Low = Literal["never_shown", "never_used", "no_source", "language"]
AuditKind = Literal[_High, _Medium, _Low]
Act = Remove | Supersede | Merge | Quarantine | ConsolidationWork
"""The change that mends a finding; a rollback, or the undo of the consolidation, takes it back."""
SEVERITY: Mapping[AuditKind, Severity] = {
    **dict.fromkeys(get_args(_High), "high"),
    **dict.fromkeys(get_args(_Medium), "medium"),
    **dict.fromkeys(get_args(_Low), "low"),
}
"""How bad each kind of finding is; all kinds, the worst first."""
WHAT_TO_DO: Mapping[AuditKind, str] = {
    "secret": "remove it, and change the secret: the history holds it until `learner forget`",
    "order": "remove it: it reads like an order to the assistant",
    "contradiction": "read both, and let the second take the place of the first",
    "duplicate": "merge them into one with the votes of all",
    "outdated": "let the newer value take its place",
    "expired": "remove it, or give it more time",
    "harmful": "remove it: it failed more often than it helped",
    "full": "consolidate, or raise ACE_MAX_BULLETS: at the cap the weakest are archived",
    "never_shown": "remove it, or say in its text when it applies",
    "never_used": "remove it: no answer that was judged followed it",
    "no_source": "keep it back until somebody has said where it is from",
    "language": "write it in the language of the others, and keep it back until then",
}

_LIKELIEST = 10
"""How many bullets each is compared with."""
_MOST_MERGED = 20
_NEAR_CAP = 0.9
_TRIED = 100
"""Commits after the day on which a bullet was added, before its use says anything."""
_SHOWN_CHARS = 200
_BARRED: Mapping[Ineligible, AuditKind] = {"expired": "expired", "harmful": "harmful", "failing": "harmful"}
_LINKS: tuple[Danger, ...] = ("link",)
"""No rot: the screen holds them back until somebody has looked."""


class Finding(Frozen):
    """One thing that is rotten. `ids` are its bullets; where one should go for another, that one is first.

    `texts` are theirs, cut to 200 characters, and empty for what must not be read on: secrets, orders, what
    is in quarantine, and what the host hides. `act` is None where the caller can't do it.
    """

    kind: AuditKind
    ids: tuple[str, ...] = ()
    why: str = ""
    act: Act | None = None
    texts: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return SEVERITY[self.kind]

    @property
    def do(self) -> str:
        """What to do about it, in words."""
        return WHAT_TO_DO[self.kind]

    def without_act(self) -> Finding:
        """Return it as somebody sees it who may not mend it."""
        return self.model_copy(update={"act": None})


class Audit(Frozen):
    """What is rotten in a memory of so many `bullets`, the worst first; `version` None: nothing is stored."""

    bullets: int
    findings: tuple[Finding, ...] = ()
    version: int | None = None

    @property
    def counts(self) -> dict[AuditKind, int]:
        """How many findings there are of each kind, also of those without any."""
        found = Counter(finding.kind for finding in self.findings)
        return {kind: found[kind] for kind in SEVERITY}

    @property
    def clean(self) -> int:
        """How many bullets no finding names."""
        return self.bullets - len({name for finding in self.findings for name in finding.ids})

    @property
    def clean_share(self) -> float:
        """The share of the bullets that no finding names, 0-1; 1 for an empty memory."""
        return self.clean / self.bullets if self.bullets else 1.0

    def failing(self, limits: Iterable[str]) -> tuple[Finding, ...]:
        """Return the findings of these kinds, and those that are at least as bad as one of these severities.

        Raises UsageError for another word.
        """
        wanted = set[AuditKind]()
        for limit in limits:
            if limit not in (known := (*SEVERITIES, *SEVERITY)):
                raise UsageError(unknown("severity or kind", limit, known))
            worse = SEVERITIES[: SEVERITIES.index(limit) + 1] if limit in SEVERITIES else ()
            wanted |= {kind for kind, severity in SEVERITY.items() if kind == limit or severity in worse}
        return tuple(finding for finding in self.findings if finding.kind in wanted)


def audit(
    playbook: Playbook, access: Access | None, policy: Policy, now: datetime, hides: Hides = lambda _: None
) -> Audit:
    """Return what is rotten in a playbook; the order of its bullets changes nothing.

    `access` None: how it was used is not known, as of a file or a named playbook. Bullets without a source
    are told where any bullet has one. `hides` says which texts the report must not hold.
    """
    return finish(auditing(playbook, access, policy, now, hides))


def auditing(
    playbook: Playbook, access: Access | None, policy: Policy, now: datetime, hides: Hides
) -> Steps[Audit]:
    """Do what `audit` does, in steps."""
    access = access or Access()
    eligible = EligibleBullets(playbook, None, access, policy, now, None, proven_only=False)
    found, living = list[Finding](), list[Bullet]()
    for bullet in playbook.bullets():
        yield
        barred, told = eligible.barred(bullet), screen_bullet(bullet, _LINKS)
        if told is not None:
            danger, _, what = told.partition(": ")
            found.append(_removed("secret" if danger == "secret" else "order", bullet, what))
        if barred is not None and (kind := _BARRED.get(barred)) is not None:
            found.append(_removed(kind, bullet, f"+{bullet.helpful}/-{bullet.harmful}"))
        elif barred is None and eligible.is_weak(bullet):
            found.append(_removed("never_shown", bullet, "weaker than the policy's threshold"))
        elif barred is None and told is None:
            living.append(bullet)
    found += (*_unused(living, access), *_without_source(living), *_in_another_language(living))
    found += _outdated(living)
    found += yield from _alike(living, policy)
    if len(playbook) >= _NEAR_CAP * policy.max_bullets:
        why = f"{len(playbook)} of {policy.max_bullets}"
        found.append(Finding(kind="full", why=why, act=ConsolidationWork()))
    order = tuple(SEVERITY).index
    told_of = list[Finding]()
    for each in sorted(found, key=lambda finding: (order(finding.kind), finding.ids)):
        yield
        texts = tuple(_shown(playbook.entries[name], hides) for name in each.ids)
        told_of.append(each.model_copy(update={"texts": texts}))
    return Audit(bullets=len(playbook), findings=tuple(told_of))


def _shown(bullet: Bullet, hides: Hides) -> str:
    kept_back = bullet.status == "quarantined" or hides(bullet) or screen(bullet.content, _LINKS)
    return "" if kept_back else truncate(bullet.content, _SHOWN_CHARS)


def _removed(kind: AuditKind, bullet: Bullet, why: str = "") -> Finding:
    return Finding(kind=kind, ids=(bullet.id,), why=why, act=Remove(bullet_id=bullet.id))


def _kept_back(kind: AuditKind, bullet: Bullet, why: str) -> Finding:
    return Finding(kind=kind, ids=(bullet.id,), why=why, act=Quarantine(bullet_id=bullet.id, why=why))


def _replaced(kind: AuditKind, bullet: Bullet, by: Bullet, why: str) -> Finding:
    act = Supersede(bullet_id=bullet.id, by=by.id)
    return Finding(kind=kind, ids=(bullet.id, by.id), why=why, act=act)


def _unused(bullets: Iterable[Bullet], access: Access) -> Iterator[Finding]:
    """Those that no prompt held since the day they were added, and advice that no vote was about.

    A stamp is that of a bullet's last use, or of its addition. The core is in every prompt without a stamp.
    """
    for bullet in bullets:
        next_day = bisect_right(access.days, bullet.created_at.date(), key=lambda day: day[1])
        if bullet.core or bullet.helpful or bullet.harmful or bullet.neutral or next_day == len(access.days):
            continue
        since = access.days[next_day][0]
        commits = access.access_clock - since
        if commits < _TRIED:
            continue
        if access.stamps.get(bullet.id, 0) < since:
            yield _removed("never_shown", bullet, f"in {commits} commits")
        elif not is_fact(bullet):
            yield _removed("never_used", bullet, f"in {commits} commits")


def _without_source(bullets: Sequence[Bullet]) -> Iterator[Finding]:
    without = [b for b in bullets if not (b.sources or b.examples or b.turn_id or b.consolidated_from)]
    for bullet in without if len(without) < len(bullets) else ():
        yield _kept_back("no_source", bullet, "nobody has said where it is from")


def _in_another_language(bullets: Iterable[Bullet]) -> Iterator[Finding]:
    """Those in another language than most; a text of which no language is sure is in any."""
    known = [(bullet, language) for bullet in bullets if (language := _language_of(bullet.content))]
    counted = Counter(language for _, language in known)
    most = max(counted, key=lambda language: (counted[language], language), default=FIRST)
    for bullet, language in known:
        if language != most:
            yield _kept_back("language", bullet, f"{language}, where most is {most}")


def _language_of(text: str) -> str | None:
    """Return the language of a text, None where the ways to tell it differ or nothing tells."""
    spoken = spoken_language(text)
    if spoken == FIRST:
        return FIRST if likely_languages(text) == (FIRST,) else None
    return spoken if spoken == language_of(text) or is_spaceless(text) else None


def _outdated(bullets: Sequence[Bullet]) -> Iterator[Finding]:
    """The earlier values of a relation that holds one; of one moment nobody can say which is the newer."""
    for row in of_one_relation([(bullet, False) for bullet in bullets]):
        *older, last = sorted((bullets[place] for place in row), key=_newness)
        for bullet in older:
            earlier = earlier_values(last, [bullet])
            if not (earlier.values and earlier.replaced) or are_distinct(bullet, last):
                continue
            if bullet.updated_at == last.updated_at:
                yield _replaced("contradiction", bullet, last, "another value of the same, said at one time")
            else:
                yield _replaced("outdated", bullet, last, f"said again on {last.updated_at:%Y-%m-%d}")


def _alike(bullets: Iterable[Bullet], policy: Policy) -> Steps[list[Finding]]:
    """Groups of bullets that say the same, and pairs of which one must be wrong.

    Of those that have one text, and differ in nothing that keeps bullets apart, the first is compared.
    """
    twins: dict[tuple[object, ...], list[Bullet]] = {}
    for bullet in sorted(bullets, key=lambda bullet: bullet.id):
        apart = (
            bullet.slot,
            bullet.topic,
            bullet.profile and bullet.section,
            bullet.distinct_from and bullet.id,
        )
        key = (bullet.content_hash, bullet.polarity, bullet.memory_type, *apart)
        twins.setdefault(key, []).append(bullet)
    of = {each[0].id: each for each in twins.values()}
    firsts = Playbook.of(each[0] for each in twins.values())
    candidates = yield from find_candidates(firsts, firsts.bullets(), _LIKELIEST)
    entries, same = firsts.entries, set[tuple[str, str]]()
    winners: dict[str, tuple[Bullet, Bullet, ClaimComparison]] = {}
    for name, near in candidates.close.items():
        for other in near:
            yield
            if name > other or are_distinct(a := entries[name], b := entries[other]):
                continue
            compared = compare(a, b, policy.similarity)
            opposed = a.polarity != b.polarity and "observation" not in (a.polarity, b.polarity)
            if compared.outcome == "same" and not opposed:
                same |= {(name, other), (other, name)}
            elif compared.outcome == ("same" if opposed else "rival") and not same_relation(a, b):
                loser, winner = sorted((a, b), key=_standing)
                held = winners.get(loser.id)
                if held is None or _standing(held[1]) < _standing(winner):
                    winners[loser.id] = loser, winner, compared

    def fits(members: Sequence[Bullet], other: Bullet) -> bool:
        first = members[0]
        if first.content_hash != other.content_hash and losses([other.content], first.content):
            return False
        return all((each.id, other.id) in same for each in members)

    groups = grouped(candidates, fits, _MOST_MERGED)
    alone = of.keys() - {bullet.id for group in groups for bullet in group}
    found = list[Finding]()
    for group in (*groups, *([entries[name]] for name in alone if len(of[name]) > 1)):
        whole = [twin for bullet in group for twin in of[bullet.id]]
        parts = -(-len(whole) // _MOST_MERGED)
        found += (_merged(whole[part::parts], policy) for part in range(parts))
    for loser, winner, compared in winners.values():
        why = f"they differ in {compared.guard}" if compared.guard else "once to do and once to avoid"
        found.append(_replaced("contradiction", loser, winner, why))
    return found


def _newness(bullet: Bullet) -> tuple[datetime, int, str]:
    return *age(bullet), bullet.id


def _standing(bullet: Bullet) -> tuple[bool, int, tuple[datetime, int, str]]:
    """What is greater for a bullet that is rather right: pinned, with better votes, or newer."""
    return bullet.pinned, bullet.helpful - bullet.harmful, _newness(bullet)


def _merged(group: Sequence[Bullet], policy: Policy) -> Finding:
    """A merge; of what is important, and merges by force only, one is replaced by what says the same."""
    if any(bullet.importance >= policy.keep_above for bullet in group):
        return _replaced("duplicate", group[1], group[0], "says the same")
    ids = tuple(bullet.id for bullet in group)
    return Finding(kind="duplicate", ids=ids, why="say the same", act=Merge(bullet_ids=ids))
