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
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from ace_graph.base.prompts import NOT_ASKED
from ace_graph.learning.calculations import correction_of_sum
from ace_graph.learning.statements.clauses import EDGES, Clause, clauses, question_apart
from ace_graph.learning.statements.corrections import corrected
from ace_graph.learning.statements.denials import contradicted, denied, new_name
from ace_graph.learning.statements.forget_requests import (
    ForgetRequest,
    Own,
    forget_request,
    pointed_at,
    points_back,
)
from ace_graph.learning.statements.form_statements import form_statements
from ace_graph.learning.statements.forms import (
    asks_to_take_back,
    is_private_wish,
    is_sensitive,
    is_sensitive_place,
    states_sensitive,
)
from ace_graph.learning.statements.own_voice import asks_not_to_keep, order_in, own_sentences
from ace_graph.learning.statements.rules import (
    BESIDE,
    FACT,
    LIKES,
    PLAIN_FACTS,
    STATEMENTS,
    STYLE,
    StatementRule,
    rule_of,
)
from ace_graph.learning.statements.sentences import MASK, Sentence
from ace_graph.learning.statements.slots import FACTS, is_part, sparing
from ace_graph.learning.statements.speaker import Stretch, doubt
from ace_graph.learning.statements.statement import (
    ATTRIBUTION,
    MAX_STATEMENTS,
    NOT_KNOWN,
    TAKEN_BACK,
    SensitiveFacts,
    Statement,
    keep,
    part_only,
    sensitive_statement,
)
from ace_graph.memory.delta.operations import Add, Remove
from ace_graph.memory.languages.tables import FIRST
from ace_graph.memory.numbers import normalize, numerals
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.screening.screen import screen

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


def read_statements(
    text: str, playbook: Playbook, source: str, sensitive: SensitiveFacts = "ask", last: str | None = None
) -> list[Statement]:
    """Return the first 10 statements and requests of a message; those in other languages than English last.

    `source` names the turn. The playbook is read to find what a request to forget means; `last` names the
    turn before, which "forget that" means. `sensitive` is the setting ACE_SENSITIVE_FACTS.
    """
    found, taken_back = list[Statement](), ""
    own = Own(playbook, ATTRIBUTION)
    text = corrected(text, own, last)
    reader = _Reader(text, own, source, sensitive)
    unwanted = asks_not_to_keep(text)
    for part in _parts(text):
        for said in islice(reader.read(part), MAX_STATEMENTS):
            if isinstance(said, TakeBack):
                taken_back, found = taken_back or said.words, [_taken_back(each) for each in found]
            elif said.kind == "forget" or not (part.asks or unwanted):
                found.append(said)
        if len(found) >= MAX_STATEMENTS:
            break
    others = list(islice(form_statements(text, own, source, sensitive), max(0, MAX_STATEMENTS - len(found))))
    found += [_taken_back(each) for each in others] if taken_back else others
    here = unwanted and not points_back(text.strip())  # "I like cats. Don't remember that."
    if taken_back and not here and not any(each.why == TAKEN_BACK for each in found):
        found += pointed_at(taken_back, own, last)
    found = [_sparing(each, own) for each in found[:MAX_STATEMENTS]]
    order = order_in(text) if any(_wish(each) is not None for each in found) else None
    return [_held_back(each, order) for each in found] if order is not None else found


def _wish(statement: Statement) -> Add | None:
    """The operation that keeps a wish, or what is to be remembered; None for a name, an age, a taste."""
    operation = statement.operation
    if not isinstance(operation, Add) or not statement.asked or operation.slot in FACTS:
        return None
    return operation


def _held_back(statement: Statement, order: str) -> Statement:
    """The statement; a wish beside an order to the agent goes to quarantine, as a part of the order."""
    wish = _wish(statement)
    if wish is None or screen(wish.content, wish.vouched) is not None:  # that says why itself
        return statement
    held = {"status": "quarantined", "quarantine_reason": f"said beside an {order}"}
    return replace(statement, operation=wish.model_copy(update=held))


class TakeBack(NamedTuple):
    """A request to forget what was said just before, in its words."""

    words: str


def _taken_back(statement: Statement) -> Statement:
    """What becomes of a statement when the same message asks to forget it: nothing of it is kept."""
    if statement.kind != "keep" or (statement.operation is None and statement.after_yes is None):
        return statement
    return replace(statement, operation=None, after_yes=None, why=TAKEN_BACK)


def _sparing(statement: Statement, own: Own) -> Statement:
    operation = statement.operation
    return replace(statement, operation=sparing(operation, own)) if isinstance(operation, Add) else statement


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

    def read(self, sentence: Sentence) -> Iterator[Statement | TakeBack]:
        """Yield what the clauses of one sentence say."""
        if points_back(sentence.masked):
            if not sentence.asks or asks_to_take_back(sentence.masked):
                yield TakeBack(sentence.text)
            return
        beside, said = False, list(clauses(sentence))
        joined = len(said) > 1 and any(_names_value(each) for each in said)
        for clause in said:
            if points_back(clause.masked) and not clause.unsure:
                yield TakeBack(clause.words)
                continue
            request = forget_request(clause.text, clause.masked)
            forgotten = (
                list(_forgotten(request, self._own, unsure=clause.unsure)) if request is not None else []
            )
            yield from forgotten or self._denied(clause)
            statement = None if forgotten else self._stated(clause, beside=beside, joined=joined)
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

    @cached_property
    def _asks(self) -> bool:
        return any(part.asks for part in _parts(self._text))

    def _stated(self, clause: Clause, *, beside: bool, joined: bool) -> Statement | None:
        name = new_name(clause.plain) if self._unnamed else None
        if name is not None:  # in words that say that it is one
            clause = Clause(f"My name is {name}", f"My name is {name}")
        facts = beside or self._introduced or self._own.says(clause.words)
        styles = beside or self._own.says(clause.words)
        statement = _stated(clause, self._source, facts=facts, styles=styles)
        if (statement is None or statement.operation is None) and self._tells_more(clause, beside or joined):
            statement = _to_keep(clause.text, clause, BESIDE, self._source, asked=clause.told)
        if clause.told or clause.negated or self._own.says(clause.words):
            return statement
        if statement is not None and statement.operation is None and statement.why != NOT_ASKED:
            return statement
        if _is_private(clause):
            return sensitive_statement(clause.words, self._source, self._sensitive)
        if statement is not None and statement.operation is not None and _tells_of_somebody(clause):
            return Statement("keep", clause.words, why=NOT_ASKED, asked=False)
        return statement

    def _tells_more(self, clause: Clause, beside: bool) -> bool:
        """Whether a clause is kept because of the one that it is joined to."""
        if clause.negated or not (clause.told or beside):
            return False
        if not clause.told and self._asks and _has_number(clause):
            return False
        known = BESIDE.pattern.match(clause.masked) or (clause.told and FACT.pattern.match(clause.masked))
        return bool(known) and MASK not in clause.masked


def _names_value(clause: Clause) -> bool:
    found = rule_of(clause.masked)
    return found is not None and found[0].slot is not None and not clause.negated


def _has_number(clause: Clause) -> bool:
    return bool(numerals(normalize(clause.text)))


def _is_of_learner(clause: Clause) -> bool:
    """Whether a clause tells something of the learner for sure, and of nobody else."""
    said = Sentence(clause.text, clause.masked)
    return doubt(said, Stretch(0, len(clause.masked)), FIRST, sensitive=True) is None


def _tells_of_somebody(clause: Clause) -> bool:
    """Whether a plain fact tells something sensitive of somebody else ("my brother has autism")."""
    return rule_of(clause.masked) is None and is_sensitive(clause.plain, FIRST)


def _is_private(clause: Clause) -> bool:
    """Whether a clause tells something sensitive of the learner, who does not ask to remember it."""
    found = rule_of(clause.masked)
    if found is None:
        tells = BESIDE.pattern.match(clause.masked) is not None and is_sensitive(clause.plain, FIRST)
        return (tells or states_sensitive(clause.plain, FIRST)) and _is_of_learner(clause)
    rule, match = found
    if rule.fact:
        return False
    if rule is LIKES:
        return is_sensitive(clause.plain, FIRST)
    if rule in PLAIN_FACTS:
        return is_sensitive_place(clause.plain, match.end(), FIRST)
    return (match[0].endswith(" with") and is_sensitive(clause.plain, FIRST)) or is_private_wish(
        clause.plain, match.end(), FIRST
    )


def _forgotten(request: ForgetRequest, own: Own, *, unsure: bool) -> Iterator[Statement]:
    if unsure or request.spares:
        if request.asked:
            yield Statement("forget", request.words, why=NOT_SURE, request=request.words)
        return
    for words, meant in own.meant(request.words):
        said = meant.content.removeprefix(ATTRIBUTION) if meant is not None else ""
        if meant is not None and is_part(words, said, meant.slot):
            yield part_only(words, said)
        elif meant is not None:
            yield Statement("forget", said, Remove(bullet_id=meant.id), request=words)
        elif request.asked:
            yield Statement("forget", words, why=NOT_KNOWN, request=words)


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
    if fact and facts and not _has_number(clause):  # a number is one of a word problem, as a rule
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
