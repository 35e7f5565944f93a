"""Reads statements: what a learner says about themselves, or asks to be remembered or forgotten.

They are found by rules (forms.py), clause by clause, without a model, and stored in the learner's own
words as core bullets of their profile, one bullet a statement. A link in a statement is the learner's and
stays; an instruction to the agent or a secret goes to quarantine as usual (memory/screening). Only the
beginning of a clause counts, so a story about somebody who said "call me Tom" stores nothing. A question, a
quotation and a negated request are never stored. What no rule covers is left to the reflector.

A statement that is not stored is returned too, with the reason, so that the answer does not confirm it
(reading.py).
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple
from unicodedata import combining

from ace_graph.base.prompts import NOT_ASKED
from ace_graph.learning.calculations import correction_of_sum
from ace_graph.learning.statements.forms import (
    BESIDE,
    DENIALS,
    FACT,
    FILLER,
    LEAD,
    LIKES,
    NEGATED,
    PLAIN_FACTS,
    REQUESTS,
    SLOTS,
    STATEMENTS,
    STYLE,
    TASTES,
    Form,
    FormKind,
    Found,
    StatementRule,
    as_sentence,
    asks_to_take_back,
    form_of,
    holds_word,
    instead,
    is_private_wish,
    is_sensitive,
    is_sensitive_place,
    pattern,
    request_at_end,
    rule_of,
    slot_stated,
    slots_named,
    stated_language,
    states_sensitive,
    takes_back_wish,
    tells_more,
    texts,
    verb_second,
)
from ace_graph.learning.statements.sentences import (
    A_QUESTION,
    HANDED_OVER,
    MASK,
    NOT_THEMSELVES,
    SOMEBODY_ELSE,
    Sentence,
    Stretch,
    asks_at,
    asks_not_to_keep,
    clauses_of,
    doubt,
    goes_on,
    order_in,
    own_sentences,
    skip,
)
from ace_graph.learning.statements.statement import (
    ATTRIBUTION,
    FORGET,
    MAX_STATEMENTS,
    TAKEN_BACK,
    ForgetRequest,
    Own,
    SensitiveFacts,
    Statement,
    forget_request,
    forgotten,
    is_part,
    keep,
    part_only,
    pointed_at,
    points_back,
    says_more,
    sensitive_statement,
    slot_of,
    sparing,
)
from ace_graph.memory.bullet import DATED_SLOTS, MAX_CONTEXT_CHARS, Bullet
from ace_graph.memory.delta.operations import Add, Remove
from ace_graph.memory.imperatives import is_imperative
from ace_graph.memory.languages.conditions import phrases_of
from ace_graph.memory.languages.detection import nearly_likely, spoken_language
from ace_graph.memory.languages.forms import any_of
from ace_graph.memory.languages.tables import (
    FIRST,
    SPACELESS,
    first_names,
    languages,
    phrases,
    stop_words,
    words,
)
from ace_graph.memory.numbers import normalize, numerals
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.screening.screen import screen
from ace_graph.memory.search.tokenize import normal_form, terms
from ace_graph.memory.search.word_list import per_million

# Reads what a learner denies of themselves ("I don't have dyslexia"), and which kept statement says it.
#
# A denial is turned into what it denies ("I have dyslexia"). A kept statement that says exactly that is
# forgotten; one that says something like it stays, and the answer says so.


_ALIKE = 0.6
"""Share of a denial's words that a statement must hold to be like what is denied."""

_ANY_MORE = re.compile(r" (?:any ?more|any longer|at all|after all|now)$", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|\w{2,6}n['’]?t)\b", re.IGNORECASE)
_BY_ITSELF = frozenset(terms(texts("by_itself"), FIRST))
"""Terms that say nothing of who or what: "I don't like this"."""
_NEW_NAME = re.compile(r"(?:[Ii](?:'?m| am)|[Ii]t(?:'?s| is)) (?:now )?([^\W\d_a-z][\w'’-]{0,40})(?: now)?")


def denied(words: str) -> str | None:
    """Return what a clause denies, as if it were said; None where it denies nothing."""
    said = _ANY_MORE.sub("", words)
    found = ((pattern.match(said), affirmed) for pattern, affirmed in DENIALS)
    return next((affirmed + said[match.end() :] for match, affirmed in found if match is not None), None)


def contradicted(claim: str, own: Own) -> tuple[Bullet, bool] | None:
    """Return the learner's statement that says `claim`, and whether it says exactly that; None for none."""
    said, rule = set(terms(claim)), rule_of(claim)
    slot, telling = rule[0].slot if rule is not None else None, said - _BY_ITSELF
    near: Bullet | None = None
    for bullet, known in own.bullets:
        if not telling or _NEGATION.search(bullet.content):
            continue
        if known == said or is_shortened(claim, bullet, FIRST):
            return bullet, True
        if slot is not None and slot == bullet.slot and telling & known:
            return bullet, not says_more(bullet.content.removeprefix(ATTRIBUTION))
        if len(said & known) / len(said) >= _ALIKE and telling & known:
            near = near or bullet
    return (near, False) if near is not None else None


def is_shortened(claim: str, bullet: Bullet, language: str) -> bool:
    """Whether a statement says what is denied, and where, when or how: "I play chess in a club".

    Who does not play chess does not play it in a club; "I play chess and the violin" says two things.
    """
    if bullet.slot is not None or language in SPACELESS:
        return False
    said, known = (
        text.casefold().split() for text in (claim.strip(EDGES), bullet.content.removeprefix(ATTRIBUTION))
    )
    behind = known[len(said) : len(said) + 1]
    return (
        known[: len(said)] == said
        and bool(behind)
        and behind[0] in (stop_words(language) - words(language, "persons", "joints"))
    )


def new_name(words: str) -> str | None:
    """Return the name in a clause that follows the denial of another one ("..., I'm Max"), None for none."""
    found = _NEW_NAME.fullmatch(words)
    return found[1] if found is not None else None


# Splits a sentence into clauses that each say one thing: "call me Mia and I have dyslexia" has two.
#
# A sentence is split at "and", "but" or a comma where the rest begins a statement of its own, always behind
# a name, and before a reason that is sensitive ("short answers please because I have ADHD") or a taste ("...,
# since I prefer trains"). A taste ends where another clause begins ("..., so what"). What goes on without "I"
# ("I'm 12 and live in Rome") is completed with it. "Remember that my sister and I share a room"
# stays whole, because "my sister" alone says nothing. What a clause asks for is decided below.
#
# A question that is joined to a statement or a request ("forget my name and what is 2+2?") is a part of its
# own, with a question mark or without, and at times without a joint ("I prefer pictures how do I add 1/2").


_JOINT = re.compile(r",? (?:and|but|then|also|so|while|though|although) |, | [-–—] ", re.IGNORECASE)
_TURNS = pattern("turns")
"""How a clause of its own follows what somebody likes or prefers: ", so", ", and the window faces north"."""
_TURN_WORDS = 3
"""So many words at least has such a clause."""
_REASON = re.compile(r",? (?:because|since|as|given that) ", re.IGNORECASE)
_BEGINS_REASON = re.compile(r"(?:because|since|as|given that) (?=i\b)", re.IGNORECASE)
_CLAUSE_JOINT = re.compile(f"{_REASON.pattern}|{_JOINT.pattern}", re.IGNORECASE)
_QUESTION = pattern("question")
"""How a question of three words or more begins; a shorter one ("am I?") belongs to what is before it."""
_SURELY_ASKS = pattern("surely_asks")
"""How a question begins that needs no mark to be one: its verb stands before a pronoun."""
_MAY_ASK = pattern("may_ask")
"""How a question may begin, or what somebody mixes up: "what is above and what is below"."""
_WH = re.compile(r"\b(?:what|who|where|when|why|how|which|whether|if)\b", re.IGNORECASE)
_UNJOINED = pattern("unjoined")
_EMBEDS = pattern("embeds")
"""What stands before a question that belongs to the words before it: "I prefer to see how you do it"."""
_POLITE = re.compile(r"(?:\w+,? )?(?:can|could|would) you ", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:i|we|you|they)\b", re.IGNORECASE)
_VERB = pattern("verb")
_DONT_FORGET = re.compile(r"don'?t forget|do not forget", re.IGNORECASE)
_SHORTENED = pattern("shortened")
"""How a plain fact goes on that does not name the learner again: "I'm 12 and live in Rome"."""
_SHORTENED_CHARS = 80
_GOES_ON = frozenset({"name", "age", "grade", "home"})
_COURTESY = frozenset({"please", "thanks", "thank you", "ok", "okay", "bye"})
_NOT_NAMED = "not "
"""How a clause begins that says only which name is wrong: "I'm called Max, not Mia"."""
EDGES = ".!;,:。！ "
"""What is taken off the end of a clause."""


class Clause(NamedTuple):
    """A clause without the fillers before it; `masked` as in a sentence.

    `cut`: its end was not read. `rest`: it stands behind a name. `unsure`: a request in it may be none, since
    it stands in a question, or its verb belongs to somebody ("I get nervous and forget my name"). `told`: it
    stands behind "remember that ..." and another clause.
    """

    text: str
    masked: str
    cut: bool = False
    rest: bool = False
    unsure: bool = False
    told: bool = False

    @property
    def words(self) -> str:
        """The clause without the marks at its end."""
        return self.text.strip().rstrip(EDGES)

    @property
    def plain(self) -> str:
        """Its words as rules read them: with quotations masked and plain apostrophes."""
        return self.masked.strip().rstrip(EDGES)

    @property
    def negated(self) -> bool:
        """Whether it asks not to remember, keep or call."""
        return NEGATED.search(self.masked) is not None and _DONT_FORGET.search(self.masked) is None


def question_apart(sentence: Sentence) -> list[Sentence]:
    """Return a statement or request and the question joined to it as two sentences, others as they are.

    A request to forget in the form of a polite question ("can you forget my name?") does not ask.
    """
    text, masked, _, cut = sentence
    requests = FORGET.match(masked, skip(FILLER, masked)) is not None
    polite = requests and _POLITE.match(masked) is not None
    whole = sentence._replace(asks=False) if sentence.asks and polite else sentence
    asks = _QUESTION.match(masked) is not None and not polite
    asked = None if asks else _asked_at(masked, surely=sentence.asks or requests)
    if asked is not None:
        (end, begin), first = asked, _behind_reason(masked, 0)
        said = Sentence(text[first:end], masked[first:end])
        return [said, Sentence(text[begin:], masked[begin:], sentence.asks, cut)]
    reasons = (each for each in _REASON.finditer(masked) if whole.asks and _tastes_at(masked, each.end()))
    told = next(reasons, None)
    if told is None:
        return [whole]
    # "What should I read, since I prefer poems?"
    asking = Sentence(text[: told.start()], masked[: told.start()], asks=True)
    stated = slice(told.end(), len(masked.rstrip("?？ ")))
    return [asking, Sentence(text[stated], masked[stated], cut=cut)]


def _asked_at(masked: str, *, surely: bool) -> tuple[int, int] | None:
    """Where a statement or request ends that a question follows, and where that begins; None without one.

    `surely`: a question follows, or what is before it is a request, so that its beginning is enough.
    """
    first = _behind_reason(masked, skip(FILLER, masked))
    if LEAD.match(masked, first) is None:
        return (
            next(
                (each.span() for each in _JOINT.finditer(masked) if _QUESTION.match(masked, each.end())), None
            )
            if surely
            else None
        )
    found = rule_of(masked, first)
    mixes_up = found is not None and found[0].section == "misconceptions"
    embeds, read_to = False, first
    for joint in _JOINT.finditer(masked, first):
        embeds, read_to = embeds or _WH.search(masked, read_to, joint.start()) is not None, joint.start()
        if surely and _QUESTION.match(masked, joint.end()):
            return joint.span()
        # Whether nothing stands behind a joint that is said or requested ("can you call me Mia")
        behind = skip(FILLER, masked, joint.end())
        if (rule_of(masked, behind) is None and FORGET.match(masked, behind) is None) and (
            _SURELY_ASKS.match(masked, joint.end())
            or (not mixes_up and (joint[0][0] == "," or not embeds) and _MAY_ASK.match(masked, joint.end()))
        ):
            return joint.span()
    if surely and found is not None and found[0] in TASTES:  # "I prefer trains, so would you ...?"
        turns = (each for each in _JOINT.finditer(masked, found[1].end()) if _turns(masked, each))
        turn = next(turns, None)
        if turn is not None:
            return turn.span()
    if found is None or mixes_up or found[0].fact:
        return None
    for question in _UNJOINED.finditer(masked, found[1].end()):
        if _EMBEDS.search(masked, 0, question.start()) is None:
            return question.start(), question.start() + 1
    return None


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """Yield the clauses of `sentence` that may be statements or requests, in order."""
    text, masked = sentence.text, sentence.masked
    begin, rest, unsure, subject = skip(FILLER, masked), False, sentence.asks, ""
    found, found_at, told = None, -1, False
    begin = _behind_reason(masked, begin)
    for joint in _CLAUSE_JOINT.finditer(masked, begin):
        if found_at != begin:
            found, found_at = rule_of(masked, begin), begin
        behind = skip(FILLER, masked, joint.end())
        named = found is not None and found[0].slot == "name"
        goes_on = (subject or (found is not None and found[0].slot in _GOES_ON)) and _goes_on(masked, behind)
        asked, reason = told or (found is not None and found[0].fact), _REASON.fullmatch(joint[0]) is not None
        parts = (reason or rest) and not asked and states_sensitive(masked[behind:], FIRST)
        if reason:
            parts = parts or (found is None and _tastes_at(masked, behind))
        else:
            parts = parts or (found is not None and found[0] in TASTES and _turns(masked, joint, found))
            parts = parts or named or bool(goes_on)
            parts = parts or _begins(masked, begin, found, joint.start(), behind, stated=bool(subject))
        if parts:
            said, shown = text[begin : joint.start()], masked[begin : joint.start()]
            yield from _said(Clause(subject + said, subject + shown, False, rest, unsure, told))
            told = told or (found is not None and found[0].fact)
            unsure = unsure or _SUBJECT.match(masked, begin) is not None
            begin, rest, subject = behind, named, "I " if goes_on else ""
    last = Clause(subject + text[begin:], subject + masked[begin:], sentence.cut, rest, unsure, told)
    yield from _said(last)


def _behind_reason(masked: str, begin: int) -> int:
    """Where a sentence goes on behind "because" that says something: "since I prefer trains, ..."."""
    leading = _BEGINS_REASON.match(masked, begin)
    if leading is None:
        return begin
    behind = leading.end()
    goes_on = "," in masked[behind:]  # "because I like cats" alone answers somebody
    return (
        behind
        if states_sensitive(masked[behind:], FIRST) or (goes_on and _tastes_at(masked, behind))
        else begin
    )


def _tastes_at(masked: str, behind: int) -> bool:
    """Whether a clause begins there that says what somebody likes or prefers."""
    found = rule_of(masked, behind)
    return found is not None and found[0] in TASTES


def _turns(masked: str, joint: re.Match[str], found: Found | None = None) -> bool:
    """Whether a joint behind a taste begins a clause of its own."""
    if found is not None and found[1].end() > joint.start():
        return False
    return (
        _TURNS.match(masked, joint.start()) is not None and len(masked[joint.end() :].split()) >= _TURN_WORDS
    )


def _said(clause: Clause) -> Iterator[Clause]:
    plain = clause.text.strip(EDGES).casefold()
    beside_name = clause.rest and plain and plain not in _COURTESY and not plain.startswith(_NOT_NAMED)
    if LEAD.match(clause.masked) or beside_name:
        yield clause


def _goes_on(masked: str, behind: int) -> bool:
    """Whether a plain fact stands at `behind` that leaves out "I"."""
    if _SHORTENED.match(masked, behind) is None:
        return False
    said = "I " + masked[behind : behind + _SHORTENED_CHARS]
    found = rule_of(said)
    if found is not None or said.startswith("I live"):
        return found is not None and found[0] in PLAIN_FACTS
    if states_sensitive(said, FIRST):
        return True
    return FACT.pattern.match(said) is not None or BESIDE.pattern.match(said) is not None


def _begins(masked: str, begin: int, found: Found | None, end: int, behind: int, *, stated: bool) -> bool:
    """Whether a clause of its own begins at `behind`, and the one before it is complete at `end`.

    `stated`: the one before it is known to state something.
    """
    if LEAD.match(masked, behind) is None or (found is not None and not _complete(masked, found, end)):
        return False
    if rule_of(masked, behind) is not None or FORGET.match(masked, behind) is not None:
        return True
    if denied(masked[begin:end]) is not None and new_name(masked[behind:].rstrip(EDGES)) is not None:
        return True  # "I'm not called Mimi any more, I'm Max"
    states = (
        stated
        or found is not None
        or denied(masked[begin:end]) is not None
        or FACT.pattern.match(masked, begin) is not None
    )
    return states and any(rule.pattern.match(masked, behind) for rule in (FACT, BESIDE, STYLE))


def _complete(masked: str, found: Found, end: int) -> bool:
    rule, match = found
    if match.end() > end:
        return False
    if not rule.fact:
        return True
    fact = masked[match.end() : end]
    return any(say(fact) is not None for say in (FACT.pattern.match, rule_of, _VERB.search))


# Reads "I meant Mara" behind "My name is Mia": the statement again, with the value that is meant.
#
# Only a name or a home is corrected, by what is one for sure: a listed first name, or in English what has a
# capital letter. A place may also stand behind the word that was before the other one ("ich meinte in Rom").


_CHARS = 120
_SLOTS = ("name", "home")
_DAYS_AND_MONTHS = frozenset((*calendar.day_name, *calendar.month_name))
_VALUE = re.compile(r"(?:[^\W\d_a-z][\w'’-]{0,30}(?: |(?=[.!,]|\Z))){1,3}(?=[.!,]|\Z)")


def corrected(text: str, own: Own, last: str | None) -> str:
    """Return a message that corrects what the turn `last` has stored as that statement, else itself."""
    said = text.strip()
    found = ((each, instead(each).match(said)) for each in languages("statements"))
    language, match = next((each for each in found if each[1] is not None), (FIRST, None))
    known = [each for each in own.said_in(last) if each.slot in _SLOTS] if match and last else []
    if match is None or len(known) != 1 or len(said) > _CHARS or says_more(own.words(known[0])):
        return text
    first, *before = own.words(known[0]).split()
    while before and before[-1][:1].isupper():
        before.pop()
    rest = said[match.end() :]
    meant = match[match.lastindex] if match.lastindex else rest
    same_place = known[0].slot == "home" and bool(before) and meant.startswith(f"{before[-1]} ")
    value = _VALUE.match(meant.removeprefix(f"{before[-1]} ") if same_place else meant)
    if value is None:
        return text
    stated = value[0].split()[0]
    if known[0].slot == "name":
        fits = stated in first_names()
    else:
        fits = language == FIRST and stated not in _DAYS_AND_MONTHS
    if not (same_place or fits):
        return text
    rest = "" if match.lastindex else meant.partition(value[0])[2]
    return f"{' '.join((first, *before, value[0]))}{rest}"


TOO_LONG = "the sentence is too long to be kept"
NOT_SURE = 'it may not be meant; to have it done, say "forget ..." in a sentence of its own'
LIKE_IT = 'nothing was changed; to have it forgotten, say "forget that ..."'
NOTHING_SAID = "it says nothing new; what is remembered stays as it is"
_POINTS_ONLY = pattern("points_only")
"""What one can be asked to remember, or not to forget, without a word of what it is: "anything about me"."""


def read_statements(
    text: str, playbook: Playbook, source: str, sensitive: SensitiveFacts = "ask", last: str | None = None
) -> list[Statement]:
    """Return the first 10 statements and requests of a message; those in other languages than English last.

    `source` names the turn. The playbook is read to find what a request to forget means; `last` names the
    turn before, which "forget that" means. `sensitive` is the setting ACE_SENSITIVE_FACTS.
    """
    found, taken_back = list[Statement](), ""
    own = Own(playbook)
    parts = [part for each in own_sentences(text, requests=True) for part in question_apart(each)]
    reader = _Reader(text, parts, own, source, sensitive)
    unwanted = asks_not_to_keep(text)
    for part in parts:
        instruction = None if unwanted else _standing(part, source)
        if instruction is not None:
            found.append(instruction)
            continue
        beside = None if unwanted else _standing_beside(part, source)
        if beside is not None:
            part, instruction = beside
            found.append(instruction)
        for said in islice(reader.read(part), MAX_STATEMENTS):
            if isinstance(said, str):
                taken_back, found = taken_back or said, [_taken_back(each) for each in found]
            elif said.kind == "forget" or not (part.asks or unwanted):
                found.append(said)
        if len(found) >= MAX_STATEMENTS:
            break
    gone = {each.operation.bullet_id for each in found if isinstance(each.operation, Remove)}
    withdrawn = (taken for part in parts if not unwanted for taken in _withdrawn(part, own))
    for wish, request in {bullet.id: (bullet, said) for bullet, said in withdrawn}.values():
        if wish.id not in gone:
            found.append(Statement("forget", own.words(wish), Remove(bullet_id=wish.id), request=request))
    told = [each.words for each in found if each.kind == "keep"]
    by_forms = _FormReader(own, source, sensitive)
    read = (said for each in own_sentences(text) for said in by_forms.read(each) if not unwanted)
    others = [
        each
        for each in islice(read, max(0, MAX_STATEMENTS - len(found)))
        if not any(each.words in words for words in told)
    ]
    found += map(_taken_back, others) if taken_back else others
    here = unwanted and not points_back(text.strip())  # "I like cats. Don't remember that."
    if taken_back and not here and not any(each.why == TAKEN_BACK for each in found):
        found += pointed_at(taken_back, own, last)
    found = [
        replace(each, operation=sparing(each.operation, own)) if isinstance(each.operation, Add) else each
        for each in found[:MAX_STATEMENTS]
    ]
    order = order_in(text) if any(_wish(each) is not None for each in found) else None
    return [_held_back(each, order) for each in found] if order is not None else found


def _standing_beside(part: Sentence, source: str) -> tuple[Sentence, Statement] | None:
    """What a sentence tells before an instruction that ends it, and that: "I'm new here, so always ..."."""
    if part.asks or part.cut or MASK in part.masked:
        return None
    language = spoken_language(part.masked)
    if _phrase(language, *_TOGETHER[-1]).search(part.masked.lower()) is None:
        return None
    for joint in islice(_INSTRUCTS.finditer(part.masked), _TAILS):
        head, begin = part.masked[: joint.start()], joint.end()
        begin = skip(_phrase(language, "greetings"), part.masked.lower(), begin)
        begin += len(part.masked[begin:]) - len(part.masked[begin:].lstrip(_EDGES))
        why = doubt(Sentence(head, head), Stretch(0, len(head)), language, sensitive=False)
        found = (
            None if why is not None else _standing(Sentence(part.text[begin:], part.masked[begin:]), source)
        )
        if found is not None:
            return Sentence(part.text[: joint.start()], head), found
    return None


def _standing(part: Sentence, source: str) -> Statement | None:
    """The statement that a standing instruction is; None for what other rules read, and what is sensitive."""
    found = standing_instruction(part)
    if found is None or NEGATED.search(part.masked) is not None:
        return None
    words, condition = found
    language = spoken_language(words)
    begin = skip(FILLER, part.masked) if language == FIRST else _behind_mark(part.masked, language)
    rule = rule_of(part.masked, begin) if language == FIRST and not part.asks else None
    *_, last = (
        Stretch(0, 0),
        *clauses_of(part.masked, language),
    )
    ends = last.start + _behind_mark(part.masked[last.start :], language)
    slots = (slot_of(part.text[at:], language) for at in (begin, ends))
    known = (rule is not None and not rule[0].fact) or any(slot is not None for slot in slots)
    if (known and condition is None) or _tells_private(words, condition or "", language):
        return None
    kept = keep(words, "preferences", "episodic", None, source)
    return Statement("keep", words, kept.model_copy(update={"context": condition}))


def _tells_private(words: str, condition: str, language: str) -> bool:
    """Whether an instruction tells something sensitive of who gives it; "when I ask about pills" does not."""
    told, named = words.replace(condition, " ", 1), ("own", "mine")
    if any(holds_word(told, language, name) for name in named) and is_sensitive(told, language):
        return True
    return holds_word(condition, language, "mine") and is_sensitive(condition, language)


def _withdrawn(part: Sentence, own: Own) -> Iterator[tuple[Bullet, str]]:
    """Yield the wishes that a sentence takes back ("no more summaries, please"), each with its words.

    A clause means the wish whose words it has, but for its verb, and no wish not to do something.
    """
    language = spoken_language(part.masked) if own.wishes else FIRST
    for place in clauses_of(part.masked, language) if own.wishes else ():
        told = _main(part.masked[place.start : place.end].lower(), language)
        if (part.asks and not told.polite) or not takes_back_wish(told.main, language) or not own.may_deny():
            continue
        named = frozenset(terms(told.main, language))
        for bullet in own.wishes:
            wanted = _wanted(own.words(bullet), language)
            if wanted and wanted <= named:
                yield bullet, part.text[place.start : place.end]


@lru_cache(1_024)
def _wanted(wish: str, language: str) -> frozenset[str]:
    """The terms of a wish without its verb; none of a wish not to do something."""
    told = _main(wish.lower(), language)
    denies = _NEGATION.search(wish) if language == FIRST else claim_denied(wish, language)
    if denies or takes_back_wish(told.main, language):
        return frozenset()
    wants = _phrase(language, "wants").match(told.main)
    if wants is not None:
        return frozenset(terms(told.main[wants.end() :], language))
    named, begins = terms(told.main, language), told.opened or _instructs(told, language, marked=True)
    return frozenset(named[1:] if begins else named)


def _wish(statement: Statement) -> Add | None:
    """The operation that keeps a wish, or what is to be remembered; None for a name, an age, a taste."""
    operation = statement.operation
    if not isinstance(operation, Add) or not statement.asked or operation.slot in DATED_SLOTS:
        return None
    return operation


def _held_back(statement: Statement, order: str) -> Statement:
    """The statement; a wish beside an order to the agent goes to quarantine, as a part of the order."""
    wish = _wish(statement)
    if wish is None or screen(wish.content, wish.vouched) is not None:  # that says why itself
        return statement
    held = {"status": "quarantined", "quarantine_reason": f"said beside an {order}"}
    return replace(statement, operation=wish.model_copy(update=held))


def _taken_back(statement: Statement) -> Statement:
    """What becomes of a statement when the same message asks to forget it: nothing of it is kept."""
    if statement.kind != "keep" or (statement.operation is None and statement.after_yes is None):
        return statement
    return replace(statement, operation=None, after_yes=None, why=TAKEN_BACK)


class _Reader:
    """Reads the clauses of one message. Beside a statement that is kept, plain facts are kept as well."""

    def __init__(
        self, text: str, parts: Sequence[Sentence], own: Own, source: str, sensitive: SensitiveFacts
    ) -> None:
        self._text, self._parts, self._own, self._source = text, parts, own, source
        self._sensitive: SensitiveFacts = sensitive
        self._unnamed = False
        """A name was denied, so that a new one may follow."""

    def read(self, sentence: Sentence) -> Iterator[Statement | str]:
        """Yield what the clauses of one sentence say; a text asks to forget what was said just before."""
        if points_back(sentence.masked):
            if not sentence.asks or asks_to_take_back(sentence.masked):
                yield sentence.text
            return
        beside, said = False, list(clauses(sentence))
        rules = ((each, rule_of(each.masked)) for each in said)
        joined = len(said) > 1 and any(
            found is not None and found[0].slot is not None and not each.negated for each, found in rules
        )
        for clause in said:
            if points_back(clause.masked) and not clause.unsure:
                yield clause.words
                continue
            request = forget_request(clause.text, clause.masked)
            requested = list(_requested(request, self._own, unsure=clause.unsure)) if request else []
            denials = [] if requested else list(self._denied(clause))
            yield from requested or denials
            statement = None if requested else self._stated(clause, beside=beside, joined=joined)
            if (denials or not self._own.compares) and statement is not None and _tastes_at(clause.masked, 0):
                continue  # "I don't like cats" has made "I like cats" forgotten
            if statement is not None and (statement.asked or sentence[:2] in self._own_words):
                beside = beside or (statement.asked and statement.operation is not None)
                yield statement

    @cached_property
    def _introduced(self) -> bool:
        """Whether a sentence says what is kept anyway (a name, a wish): facts beside it are kept, too."""
        said = (clause for part in self._parts if not part.asks for clause in clauses(part))
        return any(rule_of(each.masked) is not None and not each.negated for each in said)

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
        first = _ANY_MORE.sub("", claim.partition(",")[0])  # "... after all, the test was wrong"
        claims = [each for each in dict.fromkeys((claim, first)) if self._own.may_deny()]
        alike = [each for one in claims if (each := contradicted(one, self._own)) is not None]
        if not alike:
            return
        meant = next((each for each in alike if each[1]), alike[0])
        bullet, exact = meant
        self._unnamed = self._unnamed or bullet.slot == "name"
        said = self._own.words(bullet)
        if exact:
            yield Statement("forget", said, Remove(bullet_id=bullet.id))
        else:
            yield Statement("forget", said, why=LIKE_IT)

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
        if statement is None or statement.operation is None or rule_of(clause.masked) is not None:
            return statement
        of_somebody = is_sensitive(clause.plain, FIRST)  # "my brother has autism"
        return Statement("keep", clause.words, why=NOT_ASKED, asked=False) if of_somebody else statement

    def _tells_more(self, clause: Clause, beside: bool) -> bool:
        """Whether a clause is kept because of the one that it is joined to."""
        if clause.negated or not (clause.told or beside):
            return False
        if not clause.told and any(part.asks for part in self._parts) and _has_number(clause):
            return False
        known = BESIDE.pattern.match(clause.masked) or (clause.told and FACT.pattern.match(clause.masked))
        return bool(known) and MASK not in clause.masked


def _has_number(clause: Clause) -> bool:
    return bool(numerals(normalize(clause.text)))


def _is_private(clause: Clause) -> bool:
    """Whether a clause tells something sensitive of the learner, who does not ask to remember it."""
    found = rule_of(clause.masked)
    if found is None:
        tells = BESIDE.pattern.match(clause.masked) is not None and is_sensitive(clause.plain, FIRST)
        said, whole = Sentence(clause.text, clause.masked), Stretch(0, len(clause.masked))
        return (tells or states_sensitive(clause.plain, FIRST)) and (
            doubt(said, whole, FIRST, sensitive=True) is None
        )
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


def _requested(request: ForgetRequest, own: Own, *, unsure: bool) -> Iterator[Statement]:
    if unsure or request.spares:
        if request.asked:
            yield Statement("forget", request.words, why=NOT_SURE, request=request.words)
        return
    yield from forgotten(own.meant(request.words), own, told=request.asked)


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


# Reads standing instructions: "from now on ...", "always ... when I ask about ...".
#
# Such a sentence is kept whole, as a wish of the learner, with its condition apart, and nothing of the
# question beside it. It needs a mark (the table `standing` of its language) or a condition on what is asked,
# and in front a verb: without these it may be about this question alone. The work is linear in the sentence.


_COMMAS = re.compile(r"[,，、;:] ?")
_EDGES = " .!?;,:。！？，、"
_FIRST_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_INSTRUCTS = re.compile(r"[,;:] | [-–—] | (?=(?:and|so|but) )")
"""Where an instruction may begin in a sentence."""
_TAILS = 4
"""At so many of these places it is looked for."""
_SPELLED_WORD = re.compile(r"[\w'’]+")
_SURE = frozenset(
    (
        *("do", "don't", "dont", "be", "never", "always", "only", "keep", "give", "let", "make", "assume"),
        *("point", "flag", "cite", "include", "mention", "explain", "avoid", "remind", "provide", "warn"),
    )
)
"""How an English instruction begins by words that the forms of verbs don't tell."""
_OBJECTS = frozenset(("them", "him", "her"))
"""Words for others that stand behind a verb that tells what to do."""
_TEXTS = (
    *("marks", "opening", "greetings", "polite", "wish", "wants", "each", "here", "speaker"),
    *("lets", "topic", "raised", "sayings"),
)
_CONDITIONS = ("when", "ever", "about", "topic")
_TOGETHER = (_CONDITIONS, ("marks", "opening"), ("wish", "opening"), ("marks", "opening", *_CONDITIONS))
"""Texts whose phrases are looked for at once."""
_LANGUAGES = 3
"""A short sentence is read in so many languages."""
_LEADS = 6
"""So many politenesses and marks may stand before an instruction."""
_BESIDE_VERB = 3
"""Behind so many words at most stands "always" beside the verb of its clause; else it ends the clause."""
_STEM = 2
"""A verb has at least so many characters before the word for the speaker that is written at its end."""


class _Told(NamedTuple):
    """An instruction without what stands before it; what that was, and what it holds."""

    main: str
    polite: bool = False
    wished: bool = False
    opened: bool = False
    lets: bool = False


def standing_instruction(sentence: Sentence) -> tuple[str, str | None] | None:
    """Return the words of an instruction that holds for later answers, and when it does (None: always).

    None for a sentence that is no such instruction for sure.
    """
    masked = sentence.masked.lower()
    if sentence.cut or len(masked) != len(sentence.text):
        return None
    likely = (each for each in nearly_likely(masked) if each in languages("standing"))
    found = (_standing_in(sentence, masked, each) for each in islice(likely, _LANGUAGES))
    return next((each for each in found if each is not None), None)


def _standing_in(sentence: Sentence, masked: str, language: str) -> tuple[str, str | None] | None:
    """Return the standing instruction that a sentence is in a language."""
    lasting = _phrase(language, "marks", "opening").search(masked) is not None
    if lasting and _phrase(language, "sayings").search(masked) is not None:
        return None
    condition, told_by_words = _condition(masked, language, lasting=lasting)
    if not lasting and condition is None and _phrase(language, "wish", "opening").search(masked) is None:
        return None
    rest = masked if condition is None else f"{masked[: condition.start]} {masked[condition.end :]}"
    rest = _spelled(rest, language)
    marks = _phrase(language, "marks")
    mark = marks.search(rest)
    if mark is not None and _is_of_a_text(rest, mark.start(), language):
        return None
    told = _main(marks.sub(" ", rest), language)
    first, _, behind = told.main.partition(",")
    if takes_back_wish(first, language) and behind.strip(_EDGES):
        told = _main(behind, language)  # "no more tables, use lists from now on"
    lasts = mark is not None or told.opened or condition is not None
    lasts = lasts or (told.wished and _is_about_each(told.main, language))
    if not told.main or not lasts:
        return None
    if sentence.asks and not (told.polite and (told.opened or _asks_for(told.main, language))):
        return None
    does = condition is not None and not (mark or told.opened or told_by_words)
    certain = mark is not None or told_by_words or told.wished or _is_of_answers(told.main, language)
    speaks = _phrase(language, "speaker").search(told.main) is not None
    if does and not speaks:
        return None  # "whenever I call the function, return 0"
    unsure = (told.opened and not certain) or (told.lets and not told_by_words)
    if unsure and not speaks and not _names_kind(told.main, language):
        return None  # "always cut away from you", "from now on you can vote at 16"
    marked = mark is not None or (condition is not None and told_by_words)
    if not _instructs(told, language, marked=marked) or _only_forgets(told.main, language):
        return None
    if _ends_as_report(masked, language):
        return None
    if condition is None or not told_by_words:
        return sentence.text.strip(_EDGES), None
    when = sentence.text[condition.start : condition.end].strip(_EDGES)
    return sentence.text.strip(_EDGES), when[:MAX_CONTEXT_CHARS]


def _is_of_answers(main: str, language: str) -> bool:
    """Whether an instruction begins by what is done in an answer ("give"); without a table it does."""
    whole, stems = _acts(language)
    if not whole and not stems:
        return True
    begin = _FIRST_WORD.findall(main.replace("-", " "))[:_BESIDE_VERB]
    return any(word in whole or word.startswith(stems) for word in begin)


@cache
def _acts(language: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """The words by which an instruction on answers begins, and the beginnings of such words."""
    listed = phrases_of(language, "acts")
    stems = tuple(each[:-1] for each in listed if each.endswith("*"))
    return frozenset(each for each in listed if not each.endswith("*")), stems


def _names_kind(main: str, language: str) -> bool:
    """Whether an instruction names a sort of answer: "add examples"."""
    return not frozenset(phrases_of(language, "kinds")).isdisjoint(_FIRST_WORD.findall(main))


def _behind_mark(masked: str, language: str) -> int:
    """Return where a text goes on behind a mark that it begins with: "from now on, ..."; 0 without one."""
    found = _phrase(language, "marks").match(masked.lower())
    return len(masked) - len(masked[found.end() :].lstrip(_EDGES)) if found is not None else 0


def _spelled(said: str, language: str) -> str:
    """Return a text with the words of chats as they are written elsewhere: "u" is "you"."""
    spelled = _spellings(language)
    return _SPELLED_WORD.sub(lambda word: spelled.get(word[0], word[0]), said) if spelled else said


@cache
def _spellings(language: str) -> Mapping[str, str]:
    pairs = (line.partition("=") for line in phrases_of(language, "spelled"))
    return MappingProxyType({written: meant for written, _, meant in pairs})


def _is_of_a_text(rest: str, mark: int, language: str) -> bool:
    """Whether a mark stands in what a task hands over behind a colon: "write a scene: from now on ..."."""
    before, colon, _ = rest[:mark].rpartition(":")
    return bool(colon) and is_imperative(before, language)


def _only_forgets(main: str, language: str) -> bool:
    """Whether an instruction asks to forget something, and nothing beside it."""
    form = form_of(main, language) if language != FIRST else None
    asks = FORGET.match(main) is not None if language == FIRST else form is not None and form.kind == "forget"
    return asks and len(clauses_of(main, language)) == 1


def _ends_as_report(masked: str, language: str) -> bool:
    """Whether somebody else has said it: "..., she says"."""
    last = _FIRST_WORD.findall(masked.rpartition(",")[2])
    return (
        "," in masked
        and len(last) <= _BESIDE_VERB
        and not words(language, "persons", "reports").isdisjoint(last)
    )


def _asks_for(main: str, language: str) -> bool:
    """Whether a polite question asks to do something, not "can you tell me what ..."."""
    asking = words(language, "persons", "questions")
    return language in SPACELESS or asking.isdisjoint(_FIRST_WORD.findall(main)[:_BESIDE_VERB])


def _is_about_each(main: str, language: str) -> bool:
    """Whether a wish is about each of what is asked for or done: "every mistake I make"."""
    each = _phrase(language, "each").search(main)
    if each is None or _phrase(language, "here").search(main) is not None or numerals(normalize(main)):
        return False
    behind = _FIRST_WORD.findall(main[each.end() :])
    kinds = phrases_of(language, "kinds")
    return any(word in kinds for word in behind[:1]) or not words(language, "persons", "own").isdisjoint(
        behind
    )


def _condition(masked: str, language: str, *, lasting: bool) -> tuple[Stretch | None, bool]:
    """Return the part of a sentence that says when it holds, and whether the words of a question can tell.

    They tell what is asked, or how it is answered, not what the speaker does: "whenever I make a mistake".
    `lasting`: the sentence has a mark beside its condition.
    """
    ever, topic, when = (phrases_of(language, name) for name in ("ever", "topic", "when"))
    found, told_by_words = None, False
    commas = [match.span() for match in _COMMAS.finditer(masked)]
    begins, ends = (0, *(end for _, end in commas)), (*(start for start, _ in commas), len(masked))
    for begin, end in zip(begins, ends, strict=True):
        for opening in _phrase(language, *_CONDITIONS).finditer(masked, begin, end):
            said = masked[opening.end() : end]
            asks = _tells_when(opening[0], said, language, lasting=lasting)
            wants = _phrase(language, "wants").search(masked, opening.end(), end)
            topical = opening[0] in topic or (lasting and opening[0] in when)
            if wants is not None and topical and opening.start() == begin:
                found, told_by_words = Stretch(begin, wants.start()), True
            elif asks or (opening[0] in ever and said.strip(_EDGES) and not numerals(normalize(said))):
                please = _phrase(language, "polite").search(masked, opening.end(), end)  # without a comma
                until = end if please is None or please.start() <= opening.end() + 1 else please.start()
                found = Stretch(opening.start(), until)  # the last one: "in bullet points when I ask for ..."
                told_by_words = asks
        if found is not None:
            break
    return found, told_by_words


def _tells_when(opening: str, said: str, language: str, *, lasting: bool) -> bool:
    """Whether the words of a condition tell what is asked, or what is done in the answer."""
    told = _FIRST_WORD.findall(said.replace("'", " "))
    names = ("asking", "about", "ever", "making", "here", "agent", "topic")
    asking, about, ever, making, here, agent, topic = (
        frozenset(phrases_of(language, name)) for name in names
    )
    if opening in about:
        return True
    asks = any(word in said for word in asking) if language in SPACELESS else not asking.isdisjoint(told)
    if asks and here.isdisjoint(told[:2]):
        return True
    if opening in topic or not here.isdisjoint(told):
        return False
    answers = not agent.isdisjoint(told[:1])  # "when you ..."
    if answers and _phrase(language, "speaker").search(said) is not None:
        return True  # "when you make worksheets for me, ..."
    if (answers or opening in ever or (lasting and not agent)) and not making.isdisjoint(told):
        return True  # "when you write tests, ..."
    return (lasting or opening in ever) and _phrase(language, "raised").search(said) is not None


def _main(rest: str, language: str) -> _Told:
    """Return an instruction apart from what stands before it."""
    told = _Told(rest.strip(_EDGES))
    for _ in range(_LEADS):
        for name in ("greetings", "polite", "wish", "lets", "opening"):
            found = _phrase(language, name).match(told.main)
            if found is not None:
                told = _Told(
                    told.main[found.end() :].strip(_EDGES),
                    told.polite or name in ("polite", "wish", "lets"),
                    told.wished or name == "wish",
                    told.opened or name == "opening",
                    told.lets or name == "lets",
                )
                break
        else:
            break
    for please in _phrase(language, "polite").finditer(told.main):
        if please.start() and please.end() == len(told.main):
            told = told._replace(main=told.main[: please.start()].strip(_EDGES), polite=True)
    apart = [each.strip() for each in told.main.split(",")[1:]]
    head, _, tail = told.main.rpartition(",")
    clause = told.main.partition(",")[0].rstrip()
    inside = None if told.opened else _phrase(language, "opening").search(clause)
    if not told.opened and head and _phrase(language, "opening").fullmatch(tail.strip()):
        return told._replace(main=head.strip(_EDGES), opened=True)
    if not told.opened and any(_phrase(language, "opening").fullmatch(each) for each in apart):
        return told._replace(opened=True)  # "I need metric units, always, because ..."
    if inside is None or numerals(normalize(clause)):
        return told
    before = _phrase(language, "polite").sub(" ", clause[: inside.start()]).split()
    beside_verb = language != FIRST and len(before) <= _BESIDE_VERB
    if not beside_verb and inside.end() < len(clause):
        return told
    bare = f"{told.main[: inside.start()].rstrip()} {told.main[inside.end() :].lstrip()}".strip(_EDGES)
    return told._replace(main=bare, opened=True)


def _instructs(told: _Told, language: str, *, marked: bool) -> bool:
    """Whether the words tell what to do, or what is wanted; behind a mark they are read in its language."""
    main = told.main
    others = words(language, "persons", "others")
    if MASK in main[:1] or not (others - _OBJECTS).isdisjoint(
        _FIRST_WORD.findall(main)[: 2 if told.polite else 1]
    ):
        return False  # "I want my brother to ...", "il faut ..."
    if _phrase(language, "wants").match(main) is not None:
        return True
    if is_imperative(main, language if marked or told.opened else None):
        behind = main.split()[1:2]  # "sagt er nein" is none
        persons = (words(language, "persons", name) - _OBJECTS for name in ("own", "others"))
        return not any(frozenset(behind) & each for each in persons)
    first = _FIRST_WORD.match(main)
    begin = first[0].replace("’", "'") if first is not None else ""
    whole, stems = (_SURE, ()) if language == FIRST or not marked else _acts(language)
    if (" " in main and (begin in whole or begin.startswith(stems))) or (
        first is not None and _is_told_with_enclitic(first[0], language)
    ):
        return True
    return told.polite


def _is_told_with_enclitic(word: str, language: str) -> bool:
    """Whether a word is an imperative with the speaker written at its end: "dammi", "contéstame"."""
    for speaker in phrases_of(language, "enclitics"):
        for ending in speaker.split():
            stem = normal_form("NFD", word.removesuffix(ending))
            verb = "".join(char for char in stem if not combining(char))
            if word.endswith(ending) and len(verb) >= _STEM:
                return any(per_million(each, language) for each in (verb, verb[:-1], f"{verb}r", f"{verb}re"))
    return False


@cache
def _phrase(language: str, *names: str) -> re.Pattern[str]:
    """Return the pattern of the phrases of these texts; of texts without any nothing matches."""
    listed = any_of(phrase for name in names for phrase in phrases_of(language, name))
    before, after = ("", "") if language in SPACELESS else (r"(?<!\w)", r"(?!\w)")
    return re.compile(f"{before}(?:{listed}){after}")


# Reads statements and requests to forget in other languages than English, by the forms of their tables.
#
# As in English only the beginning of a clause counts, and a question, a quotation, a supposition and what
# somebody else says store nothing.
#
# Finds which kept statement a learner denies ("Ich wohne nicht mehr in Paris"), in languages with tables.
#
# A clause without its words of denial is what is denied. Only a statement that says exactly that is meant:
# the same words, or the same value of a name, an age, a home. English has its own rules above.


def claim_denied(clause: str, language: str) -> str | None:
    """Return what a clause denies, as if it were said; None where it denies nothing."""
    words = clause.replace("’", "'")
    replaced = _replaced(language)
    claim = _denying(language).sub(lambda found: replaced[found[0].casefold()], words)
    return " ".join(claim.split()) if claim != words else None


def is_denied_at_edge(words: str, language: str) -> bool:
    """Whether words begin or end with a denial, so that a request with them asks for the contrary."""
    said = words.casefold().split()
    edges = () if language in SPACELESS else (*said[:1], *said[-1:])
    return not _replaced(language).keys().isdisjoint(edges)


def denied_statement(claim: str, language: str, own: Own) -> Bullet | None:
    """Return the learner's statement that says the claim, None for none."""
    stemmer = FIRST if language in SPACELESS else language
    said, slot = frozenset(terms(claim, stemmer)), slot_stated(claim, language)
    value = said - _form_terms(language, slot) if slot is not None else frozenset[str]()
    for bullet, _ in own.bullets:
        content = own.words(bullet)
        if claim_denied(content, language) is not None or not said:
            continue
        known = frozenset(terms(content, stemmer))
        if slot is not None and slot == bullet.slot and value and value <= known:
            return bullet
        if (
            said == known
            or (language in SPACELESS and said <= known)
            or is_shortened(claim, bullet, language)
        ):
            return bullet
    return None


def patterns() -> Iterator[re.Pattern[str]]:
    """Yield every pattern that is made of the tables."""
    for language in languages("standing"):
        yield from (_phrase(language, name) for name in _TEXTS)
        yield from (_phrase(language, *names) for names in _TOGETHER)
    yield from (_denying(language) for language in languages("statements") if language != FIRST)


@cache
def _replaced(language: str) -> Mapping[str, str]:
    """What is said in place of each phrase of denial, nothing for most."""
    pairs = (line.partition("=") for line in phrases(language, "statements", "denials"))
    return MappingProxyType({phrase.casefold(): said for phrase, _, said in pairs})


@cache
def _denying(language: str) -> re.Pattern[str]:
    listed = any_of(_replaced(language))
    edge = "" if language in SPACELESS else r"\b"
    return re.compile(f"{edge}(?:{listed}){edge}", re.IGNORECASE)


@cache
def _form_terms(language: str, slot: str) -> frozenset[str]:
    """The words by which a value is stated, which say nothing of the value itself."""
    stemmer = FIRST if language in SPACELESS else language
    return frozenset(terms(" ".join(phrases(language, "statements", slot)), stemmer))


_SHORT_CHARS = 20
_MARKS = " .,;:!?。！？，；：…"


class _FormClause(NamedTuple):
    """A clause, and where what it wishes for ends, if a condition follows that within it (0: at its end)."""

    sentence: Sentence
    place: Stretch
    language: str
    wished_to: int = 0

    @property
    def words(self) -> str:
        return self.sentence.text[self.place.start : self.place.end]

    @property
    def masked(self) -> str:
        return self.sentence.masked[self.place.start : self.place.end]

    def doubt(self, form: Form | None = None, *, sensitive: bool = False) -> str | None:
        """Return why it is no fact that the learner states of themselves, None where it is one."""
        wish = None
        if form is not None and form.kind == "wishes":
            wish = Stretch(self.place.start + form.value, self.wished_to or self.place.end)
        return doubt(self.sentence, self.place, self.language, wish, sensitive=sensitive)

    def without_lead(self) -> _FormClause:
        """Return it without "I mean" or "from now on" before what it states ("ich meine ich heiße Mara")."""
        said = instead(self.language).match(self.masked)
        lead = said.end() if said is not None else _behind_mark(self.masked, self.language)
        if not lead or form_of(self.masked[lead:], self.language) is None:
            return self
        return self._replace(place=self.place._replace(start=self.place.start + lead))

    def with_condition(self, form: Form | None) -> _FormClause:
        """Return it with what stands behind its comma, where a wish needs that: "ich mag es, wenn du ..."."""
        if form is None or form.kind != "wishes":
            return self
        masked, end = self.sentence.masked, self.place.end
        if form_of(self.masked, self.language) is None:
            return self._replace(place=self.place._replace(end=len(masked.rstrip(_MARKS))))
        behind = masked[end:].lstrip(", ")
        if _phrase(self.language, "when").match(behind.lower()) is None:
            return self
        tail, _, _ = behind.partition(",")  # "lieber den Zug, wenn es regnet, ..."
        until = len(masked) - len(behind) + len(tail.rstrip(_MARKS))
        return self._replace(place=self.place._replace(end=until), wished_to=end)


@dataclass(frozen=True)
class _FormReader:
    own: Own
    source: str
    sensitive: SensitiveFacts

    def read(self, sentence: Sentence) -> Iterator[Statement]:
        """Yield what the clauses of one sentence say; of one in English nothing."""
        language = stated_language(sentence.masked)
        if language == FIRST or sentence.cut or asks_to_take_back(sentence.masked):
            return
        places = clauses_of(sentence.masked, language)
        said = [_FormClause(sentence, each, language).without_lead() for each in places]
        joined = len(said) > 1 and any(slot_stated(each.masked, language) is not None for each in said)
        for clause in said:
            request = form_of(sentence.masked[clause.place.start :], language)
            if request is not None and request.kind in REQUESTS:
                if clause.doubt() not in (A_QUESTION, HANDED_OVER):
                    yield from self._requested(
                        request.kind, _requested_words(request, clause, said), language
                    )
                return
            last = request_at_end(clause.masked, language)
            if last is not None and clause.doubt() is None:
                yield from self._requested(last[0], clause.words[: len(last[1])], language)
                return
            whole = clause.with_condition(request)
            denied = self._denied(whole)
            if denied is not None:
                yield denied
            elif (stated := self._stated(whole) or (self._more(whole) if joined else None)) is not None:
                yield stated

    def _requested(self, kind: FormKind, words: str, language: str) -> Iterator[Statement]:
        if not words:
            return
        if kind == "remember":
            inner = form_of(words, language)
            pointing = holds_word(words, language, "mine") and slots_named(words, language)
            if inner is None and pointing and len(words) <= _SHORT_CHARS:
                return  # "my name", without a word of what it is
            slot = inner.kind if inner is not None and inner.kind in SLOTS else None
            kept = keep(words, "profile", "semantic", slot, self.source)
            yield Statement("keep", words, kept, asked=slot is not None)
        elif not is_denied_at_edge(words, language):  # "vergiss meinen Namen nicht"
            mine = holds_word(words, language, "mine")
            meant = self.own.meant(words)
            if mine and not any(bullet is not None for _, bullet in meant):  # by a value ("mein Alter")
                named = [(words, self.own.in_slot(slot)) for slot in slots_named(words, language)]
                meant = [each for each in named if each[1] is not None] or meant
            told = mine or holds_word(words, language, "own")
            yield from forgotten(meant, self.own, told=told, named=lambda said: slots_named(said, language))

    def _denied(self, clause: _FormClause) -> Statement | None:
        """The statement that a clause denies of the learner, to be forgotten; None for none."""
        lead = _phrase(clause.language, "greetings").match(clause.masked.lower())  # "al final ..."
        said = clause.masked[lead.end() :].strip(_EDGES) if lead is not None else clause.masked
        claim = claim_denied(said, clause.language)
        why = clause.doubt() if claim is not None else None
        if claim is None or why not in (None, NOT_THEMSELVES) or not self.own.may_deny():
            return None
        meant = denied_statement(claim, clause.language, self.own)
        if meant is None or (why is not None and meant.slot is None):
            return None
        known = self.own.words(meant)
        if is_part(claim, known, meant.slot):
            return part_only(clause.words, known)
        return Statement("forget", known, Remove(bullet_id=meant.id))

    def _stated(self, clause: _FormClause) -> Statement | None:
        shortened = goes_on(clause.sentence.masked, clause.place, clause.language)
        form = form_of(clause.masked, clause.language, shortened=shortened)
        private = states_sensitive(clause.masked, clause.language, shortened=shortened) or (
            form is not None and _is_private_form(form, clause.masked, clause.language)
        )
        why = clause.doubt(form, sensitive=private)
        if why is not None and (why != NOT_THEMSELVES or (form is None and not shortened)):
            return None
        if form is not None and _ends_as_report(clause.sentence.masked.lower(), clause.language):
            return None
        words = clause.words
        if private:
            return self._private(verb_second(words, clause.language) or words)
        if form is None:
            return None
        if form.kind == "wishes":
            return Statement("keep", words, keep(words, "preferences", "episodic", None, self.source))
        slot = form.kind if form.kind in SLOTS else None
        return Statement("keep", words, keep(words, "profile", "semantic", slot, self.source))

    def _more(self, clause: _FormClause) -> Statement | None:
        """What a clause tells beside a value that the same sentence states."""
        words = clause.words
        if clause.sentence.asks or not tells_more(clause.masked, clause.language):
            return None
        private = is_sensitive(words, clause.language)
        why = clause.doubt(sensitive=private)
        if why is not None and (why != SOMEBODY_ELSE or private):
            return None
        if private:
            return self._private(words)
        return Statement("keep", words, keep(words, "profile", "semantic", None, self.source), asked=False)

    def _private(self, words: str) -> Statement:
        return sensitive_statement(words, self.source, "keep" if self.own.says(words) else self.sensitive)


def _requested_words(request: Form, clause: _FormClause, said: Sequence[_FormClause]) -> str:
    """What is to be remembered or forgotten; what is to be remembered ends at a question that follows it."""
    text, start = clause.sentence.text, clause.place.start
    if request.kind == "forget":
        return text[start + request.begin :].strip(_MARKS)
    behind = (each.place.start for each in said if each.place.start > start + request.begin)
    asked = (at for at in behind if asks_at(clause.sentence.masked[at:], clause.language))
    return as_sentence(text[start : next(asked, len(text))], request.begin, clause.language).strip(_MARKS)


def _is_private_form(form: Form, clause: str, language: str) -> bool:
    match form.kind:
        case "home" | "age" | "grade":
            return is_sensitive_place(clause, form.value, language)
        case "wishes":
            return is_private_wish(clause, form.value, language)
        case "liked":
            return is_sensitive(clause, language)
        case _:
            return False
