"""Reads statements: what a learner says about themselves, or asks to be remembered or forgotten.

They are found by rules (rules.py), clause by clause, without a model, and stored in the learner's own words
as core bullets of their profile, one bullet a statement. A link in a statement is the learner's own and
stays; an instruction to the agent or a secret goes to quarantine as usual (memory/screening). Only the
beginning of a clause counts, so a story about somebody who said "call me Tom" stores nothing. A question, a
quotation and a negated request are never stored. What no rule covers is left to the reflector.

A statement that is not stored is returned too, with the reason, so that the answer does not confirm it
(memory_changes.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from ace_graph.languages.tables import FIRST
from ace_graph.learning.calculations import correction_of_sum
from ace_graph.learning.statements.clauses import EDGES, Clause, clauses, question_apart
from ace_graph.learning.statements.denials import contradicted, denied, new_name
from ace_graph.learning.statements.forget_requests import ForgetRequest, Own, forget_request
from ace_graph.learning.statements.form_statements import form_statements
from ace_graph.learning.statements.forms import is_sensitive, is_sensitive_place, states_sensitive
from ace_graph.learning.statements.own_voice import asks_not_to_keep, own_sentences
from ace_graph.learning.statements.rules import FACT, PLAIN_FACTS, STATEMENTS, STYLE, StatementRule, rule_of
from ace_graph.learning.statements.sentences import MASK, Sentence
from ace_graph.learning.statements.speaker import Stretch, doubt
from ace_graph.learning.statements.statement import (
    ATTRIBUTION,
    MAX_STATEMENTS,
    NOT_ASKED,
    NOT_KNOWN,
    SensitiveFacts,
    Statement,
    keep,
    sensitive_statement,
)
from ace_graph.memory.delta.operations import Operation, Remove
from ace_graph.memory.playbook import Playbook
from ace_graph.numerals import numerals
from ace_graph.spelled_numbers import normalize

__all__ = ["explicit_operations", "read_statements"]

TOO_LONG = "the sentence is too long to be kept"
NOT_SURE = 'it may not be meant; to have it done, say "forget ..." in a sentence of its own'
LIKE_IT = 'nothing was changed; to have it forgotten, say "forget that ..."'
NOTHING_SAID = "it says nothing new; what is remembered stays as it is"

_POINTS_ONLY = re.compile(
    r"(?:about )?(?:please|who i am|(?:the )?following(?: about (?:me|us))?|(?:my|our) [\w'’]{1,30}"
    r"|(?:anything|everything|all|it|this|that|these|those|them|me|myself|us|you)"
    r"(?: (?:about|of|on) (?:me|us))?"
    r"|(?:anything |everything |all |what |whatever )(?:that )?(?:i|you)(?:'ve| have)?"
    r" (?:said|told|know|wrote)(?: to)?(?: you)?(?: about me)?)(?:,? (?:please|again|now|ever|either))?",
    re.IGNORECASE,
)
"""What one can be asked to remember, or not to forget, without a word of what it is: "anything about me"."""


def explicit_operations(
    text: str, playbook: Playbook, source: str, sensitive: SensitiveFacts = "ask"
) -> list[Operation]:
    """Return the operations that a learner's message asks for, of its first 10 statements."""
    found = read_statements(text, playbook, source, sensitive)
    return [statement.operation for statement in found if statement.operation is not None]


def read_statements(
    text: str, playbook: Playbook, source: str, sensitive: SensitiveFacts = "ask"
) -> list[Statement]:
    """Return the first 10 statements and requests of a message; those in other languages than English last.

    `source` names the turn. The playbook is read to find what a request to forget means. `sensitive` is the
    setting ACE_SENSITIVE_FACTS.
    """
    found = list[Statement]()
    own = Own(playbook, ATTRIBUTION)
    reader = _Reader(text, own, source, sensitive)
    unwanted = asks_not_to_keep(text)
    for part in _parts(text):
        said = reader.read(part)
        wanted = (each for each in said if each.kind == "forget") if part.asks or unwanted else said
        found += islice(wanted, MAX_STATEMENTS)
        if len(found) >= MAX_STATEMENTS:
            return found[:MAX_STATEMENTS]
    return [*found, *islice(form_statements(text, own, source, sensitive), MAX_STATEMENTS - len(found))]


def _parts(text: str) -> Iterator[Sentence]:
    for sentence in own_sentences(text, requests=True):
        yield from question_apart(sentence)


def _introduces(part: Sentence) -> bool:
    """Whether a sentence says what is kept anyway (a name, a wish, an age): facts beside it are kept, too."""
    if part.asks:
        return False
    return any(rule_of(each.masked) is not None and not each.negated for each in clauses(part))


class _Reader:
    """Reads the clauses of one message. Beside a statement that is kept, plain facts are kept as well."""

    def __init__(self, text: str, own: Own, source: str, sensitive: SensitiveFacts) -> None:
        self._text, self._own, self._source = text, own, source
        self._sensitive: SensitiveFacts = sensitive
        self._unnamed = False
        """A name was denied, so that a new one may follow."""

    def read(self, sentence: Sentence) -> Iterator[Statement]:
        """Yield what the clauses of one sentence say."""
        beside = False
        for clause in clauses(sentence):
            request = forget_request(clause.text, clause.masked)
            forgotten = (
                list(_forgotten(request, self._own, unsure=clause.unsure)) if request is not None else []
            )
            yield from forgotten or self._denied(clause)
            statement = None if forgotten else self._stated(clause, beside=beside)
            if statement is not None and (statement.asked or sentence[:2] in self._own_words):
                beside = beside or (statement.asked and statement.operation is not None)
                yield statement

    @cached_property
    def _introduced(self) -> bool:
        return any(map(_introduces, _parts(self._text)))

    @cached_property
    def _own_words(self) -> frozenset[tuple[str, str]]:
        """The sentences, and their masks, that the learner says, not hands over, for sure.

        Only these state something in passing.
        """
        return frozenset(
            (part.text, part.masked) for each in own_sentences(self._text) for part in question_apart(each)
        )

    def _denied(self, clause: Clause) -> Iterator[Statement]:
        found = rule_of(clause.masked)
        words = clause.plain[found[1].end() if found is not None and found[0].fact else 0 :]
        claim = denied(words) if not clause.unsure and MASK not in clause.masked else None
        if claim is None:
            return
        rule = rule_of(claim)
        self._unnamed = rule is not None and rule[0].slot == "name"
        meant = contradicted(claim, self._own) if self._own.may_deny() else None
        if meant is None:
            return
        bullet, exact = meant
        self._unnamed = self._unnamed or bullet.slot == "name"
        said = bullet.content.removeprefix(ATTRIBUTION)
        if exact:
            yield Statement("forget", said, Remove(bullet_id=bullet.id))
        else:
            yield Statement("forget", said, why=LIKE_IT)

    def _stated(self, clause: Clause, *, beside: bool) -> Statement | None:
        name = new_name(clause.plain) if self._unnamed else None
        if name is not None:  # in words that say that it is one
            clause = Clause(f"My name is {name}", f"My name is {name}")
        facts = beside or self._introduced or self._own.says(clause.words)
        statement = _stated(clause, self._source, facts=facts, styles=beside or self._own.says(clause.words))
        if statement is None or self._own.says(clause.words):
            return statement
        if statement.operation is not None and _tells_of_somebody(clause):
            return Statement("keep", clause.words, why=NOT_ASKED, asked=False)
        if statement.operation is not None:
            private = _is_sensitive_place(clause)
        else:
            private = statement.why == NOT_ASKED and not clause.unsure and _states_sensitive(clause)
        return sensitive_statement(clause.words, self._source, self._sensitive) if private else statement


def _states_sensitive(clause: Clause) -> bool:
    """Whether a clause says of the learner, and of nobody else, that they are or have something sensitive."""
    whole = Stretch(0, len(clause.masked))
    said = Sentence(clause.text, clause.masked)
    return states_sensitive(clause.plain, FIRST) and doubt(said, whole, FIRST, sensitive=True) is None


def _tells_of_somebody(clause: Clause) -> bool:
    """Whether a plain fact tells something sensitive of somebody else ("my brother has autism")."""
    plain_fact = rule_of(clause.masked) is None and FACT.pattern.match(clause.masked) is not None
    return plain_fact and is_sensitive(clause.plain, FIRST) and not _states_sensitive(clause)


def _is_sensitive_place(clause: Clause) -> bool:
    """Whether a home, an age or a grade is stated in words that tell something sensitive."""
    found = rule_of(clause.masked)
    return (
        found is not None
        and found[0] in PLAIN_FACTS
        and is_sensitive_place(clause.plain, found[1].end(), FIRST)
    )


def _forgotten(request: ForgetRequest, own: Own, *, unsure: bool) -> Iterator[Statement]:
    if unsure or request.spares:
        if request.asked:
            yield Statement("forget", request.words, why=NOT_SURE)
        return
    for words, meant in own.meant(request.words):
        if meant is not None:
            yield Statement("forget", meant.content.removeprefix(ATTRIBUTION), Remove(bullet_id=meant.id))
        elif request.asked:
            yield Statement("forget", words, why=NOT_KNOWN)


def _stated(clause: Clause, source: str, *, facts: bool, styles: bool) -> Statement | None:
    if clause.negated:
        return None
    found = rule_of(clause.masked)
    if found is not None:
        rule, match = found
        begin = match.end() if rule.fact else 0
        inner = rule_of(clause.masked, begin) if rule.fact else None  # remember that my name is ...
        kept_by = inner[0] if inner is not None and not inner[0].fact else rule
        return _to_keep(clause.text[begin:], clause, kept_by, source, asked=rule in STATEMENTS)
    if styles and STYLE.pattern.match(clause.masked):
        return _to_keep(clause.text, clause, STYLE, source, asked=True)
    fact = FACT.pattern.match(clause.masked) is not None
    if (
        fact and facts and not numerals(normalize(clause.text))
    ):  # a number is one of a word problem, as a rule
        return _to_keep(clause.text, clause, FACT, source, asked=True)
    worth_saying = clause.rest or fact
    return Statement("keep", clause.words, why=NOT_ASKED, asked=False) if worth_saying else None


def _to_keep(
    words: str, clause: Clause, rule: StatementRule, source: str, *, asked: bool
) -> Statement | None:
    words = words.strip().rstrip(EDGES)
    if not words.strip("\"'`“”«» "):
        return None
    if rule.fact and _POINTS_ONLY.fullmatch(words):
        return Statement("keep", words, why=NOTHING_SAID)
    wrong = correction_of_sum(words)
    if wrong is not None:
        return Statement("keep", words, why=wrong, asked=asked)
    if clause.cut:
        return Statement("keep", words, why=TOO_LONG, asked=asked)
    operation = keep(words, rule.section, rule.memory_type, rule.slot, source)
    return Statement("keep", words, operation, asked=asked)
