"""Which value of which relation a short text states of its subject, as far as forms of the tables tell.

"Ada lives in Berlin", "Ada moved to Rome" and "Rome is where Ada lives" state values of one relation,
`home`, of one subject. A relation that holds one value at a time is superseded by a newer one; one that may
hold many (speaks, likes, has visited) is not. The forms are in the tables `relations` of the languages, which
of them hold one value in `data/relations.toml`. A text in no form states no relation: any doubt keeps two
facts apart.

A text of more than _MOST_CHARS characters is not read, so the work for each is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import count, product
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from ace_graph.base.tables import word_sets
from ace_graph.memory.languages.tables import SPACELESS, languages, listed, table, table_of_all, words

_TABLE = "relations"
_PACKAGE = "ace_graph.memory.languages"
_MOST_CHARS = 300
_MOST_WORDS, _MOST_SPACELESS = 8, 24
"""A subject or a value has at most so many words, in a script without spaces so many characters."""
_MOST_VALUE = 12
"""So many words a value has at most, with its article, its class and a mark."""
_ANYWHERE, _AT_BEGINNING, _AT_END = range(3)
"""In which part of a text a literal is."""
_NOUN_WORDS = 3
_SORT_CHARS, _KNOWN_CHARS = 3, 5
"""A noun in one word with its sort: so many characters for each, at least."""
_LEAD_WORDS = 8
"""In so many words at the beginning of a text "since last May" is looked for."""
_LINK_CHARS = 3
"""A word between a class and a name, "of" or "de", has at most so many characters."""
SPEAKER = "I"
"""The subject of what is said of the speaker; other subjects are in lower case."""
_SAYS = "learner says: "
_DATES = ("weekdays", "months", "last", "this", "day", "week", "month", "year", "numbers", "ago", "yesterday")
_SLOT = re.compile("([SVPNK])")
_TOKEN = re.compile(r"[^\W_]+|[:—]")
_DIGIT = re.compile(r"\d")
_MARK = re.compile("[!?;.。！？；]")
_SENTENCE = re.compile(r"[!?;] |\w{4}\. |[。！？；]")
_WORDS_ALONE = str.maketrans({char: char.lower() if char.isalnum() else " " for char in map(chr, range(128))})
_MARKS = " .,!?:;\"'“”„«»()。！？；、，「」"
_END = ".!; 。！；"


class Relation(NamedTuple):
    """A value that a text states: `name` of what `subject`, with `value` as the text says it.

    `holds_one` says that a newer value replaces it. `certain` is False for a form that counts only beside
    a fact whose form is certain: "Bob runs the shop" beside "The shop is run by Eva".
    """

    name: str
    subject: str
    value: str
    holds_one: bool
    certain: bool

    @property
    def key(self) -> str:
        """What facts of one subject and relation have in common."""
        return f"{self.name}|{self.subject}"


class _Form(NamedTuple):
    """A form ready for use: a text begins with `first` and ends with `last`, between them are slots.

    `needed` is a word that each text in the form has, without spaces between words a character. `place` is
    its place in the table. `relation` is empty for a frame, whose noun names it. `ended` are all slots but
    the last one, each with the literal that ends it. `near` is the literal beside a value that begins or
    ends the text, else the longest one; `part` says where it is. `words` are the whole words of the literals,
    `weight` is the number of their characters. `link` is what stands between a noun and its subject.
    `instead` is the form of the text that is read in place of one that is turned round.
    """

    needed: str
    place: int
    relation: str
    first: str
    ended: tuple[tuple[str, str], ...]
    last_slot: str
    last: str
    near: str
    part: int
    words: frozenset[str]
    weight: int
    link: str | None
    certain: bool
    instead: str | None


class _Language(NamedTuple):
    """The words of a language's table, ready for use.

    A text without a word of `left_out` has no adverb, one without a word of `past` no phrase of `not_now`.
    `since` are phrases by their first word. `longest` is the length of the longest literal beside a value.
    """

    forms: Sequence[_Form]
    nouns: Mapping[str, str]
    spaceless: bool
    named: bool
    favourites: frozenset[str]
    self_: frozenset[str]
    pronouns: frozenset[str]
    adverbs: frozenset[str]
    articles: frozenset[str]
    classes: frozenset[str]
    not_now: tuple[str, ...]
    joints: frozenset[str]
    elided: frozenset[str]
    particles: frozenset[str]
    since: Mapping[str, Sequence[tuple[str, ...]]]
    dates: frozenset[str]
    mine: frozenset[str]
    left_out: frozenset[str]
    past: frozenset[str]
    longest: int


@lru_cache(maxsize=8_192)
def relation_of(text: str) -> Relation | None:
    """Return the relation that a text states, None where no form of the tables fits.

    Of two forms that fit, the one with more characters of its own is right.
    """
    if len(text) > _MOST_CHARS:
        return None
    plain = text.replace("’", "'").replace(" - ", " — ").replace(" – ", " — ").rstrip(_END)
    if plain.casefold().startswith(_SAYS):
        plain = plain[len(_SAYS) :]
    if not plain or plain.endswith(("?", "？")):
        return None
    return max(_readings(plain), key=itemgetter(0), default=_NOTHING)[1]


def claimed(name: str, subject: str, value: str) -> Relation | None:
    """Return the relation that somebody else read in a text, None where it is about nobody in particular.

    A name is looked up among the nouns of all languages; one that is in no table holds many values.
    """
    noun = " ".join(name.casefold().replace("_", " ").split()).removeprefix("the ")
    named = (each.nouns[noun] for each in _languages().values() if noun in each.nouns)
    known = next(named, noun if noun in _of_one_value() else f"the {noun}")
    about = SPEAKER if is_self(subject) else _core(subject.strip(_MARKS))
    return Relation(known, about, value, known in _of_one_value(), certain=True) if about else None


def is_self(subject: str) -> bool:
    """Whether a subject is the speaker, in any language."""
    return any(subject.casefold() in each.self_ for each in _languages().values())


def same_value(a: Relation, b: Relation) -> bool:
    """Whether two relations have the same value, case, articles and marks aside."""
    return _core(a.value) == _core(b.value)


_Reading = tuple[int, Relation | None]
"""How many characters of a text a form has, and what it finds there."""
_NOTHING: _Reading = (0, None)


def _readings(plain: str, *, turned: bool = True) -> Sequence[_Reading]:
    """Return what each form finds in a text; where `turned`, in those that it is read in place of, too."""
    tokens, by_word = _known_words().intersection(_tokens(plain)), _forms_by_word()
    wanted: dict[str, list[_Form]] = {}
    for word in sorted(by_word.keys() & (tokens if plain.isascii() else tokens.union(plain))):
        for name, alike in by_word[word].items():
            own = wanted.setdefault(name, [])
            for needed, forms in alike.items():
                if needed <= tokens:
                    own += forms
    found: list[_Reading] = []
    spaced = " ".join(plain.split()) if any(wanted.values()) else ""
    for name, forms in wanted.items():
        if not forms:
            continue
        language = _languages()[name]
        text = _prepared(plain, spaced, tokens, language)
        lower = text.lower()
        if len(lower) != len(text):
            continue
        parts = _parts(lower, language)
        own_found: list[_Reading] = []
        for form in sorted(forms):
            if form.near not in parts[form.part] or (slots := _slots(form, text, lower)) is None:
                continue
            if form.instead is None:
                own_found += _reading(form, slots, language)
            elif turned:
                own_found += _turned_round(form.instead, slots)
        if own_found and not _is_past(text, tokens, language):
            found += own_found
    return found


def _parts(lower: str, language: _Language) -> Sequence[str]:
    """Return a text, its beginning and its end: a value that begins or ends it is in there."""
    many = _MOST_VALUE * (2 if language.elided else 1)  # "l' école" is a word
    if language.spaceless or lower.count(" ") <= many:
        return lower, lower, lower
    behind, before = lower.split(" ", many), lower.rsplit(" ", many)
    beginning, end = len(lower) - len(behind[-1]), len(before[0])
    return lower, lower[: beginning + language.longest], lower[max(0, end - language.longest) :]


def _turned_round(instead: str, slots: Mapping[str, str]) -> Iterator[_Reading]:
    """Yield what is found in the text that a form stands for, with these pieces in its slots."""
    text = "".join(slots.get(piece, piece) for piece in _SLOT.split(instead))
    for weight, relation in _readings(text, turned=False):
        if relation is not None:
            yield weight, relation._replace(certain=True)


def _tokens(text: str) -> Sequence[str]:
    """Return the words and numbers of a text in lower case, and the marks that stand in forms."""
    if not text.isascii():
        return _TOKEN.findall(text.lower())
    found = text.translate(_WORDS_ALONE).split()
    return [*found, ":"] if ":" in text else found


def _slots(form: _Form, text: str, lower: str) -> dict[str, str] | None:
    """Return the pieces of a text in the slots of a form, None where its literals are not in the text."""
    first, last = form.first, form.last
    if not (lower.startswith(first) and lower.endswith(last)):
        return None
    end, at = len(text) - len(last), len(first)
    found: dict[str, str] = {}
    for slot, literal in form.ended:
        if literal:
            place = lower.find(literal, at + 1, end)
        else:  # a number stands right behind a subject
            digit = _DIGIT.search(lower, at + 1, end)
            place = digit.start() if digit is not None else -1
        if place < 0:
            return None
        found[slot] = text[at:place]
        at = place + len(literal)
    found[form.last_slot] = text[at:end]
    return found


def _reading(form: _Form, slots: Mapping[str, str], language: _Language) -> Sequence[_Reading]:
    """Return what a form finds with these pieces in its slots, if it does."""
    name_like = "P" in slots
    value = _without_class(slots["P" if name_like else "V"].strip(_MARKS), language)
    if language.elided:
        value = value.replace("' ", "'")
    if not _is_short(value, language) or (name_like and not _is_whole_name(value)):
        return ()
    said_of = _before_verb(slots["K"], language) if "K" in slots else slots.get("S")
    if form.relation:
        if not _may_have(form.relation, value):
            return ()
        subject = _subject_of(form.relation, said_of, language)
        one = form.relation in _of_one_value() and not (
            form.relation in _of_things() and _is_bare_name(said_of, language)
        )
        relation = None if subject is None else Relation(form.relation, subject, value, one, form.certain)
        return ((form.weight, relation),)
    noun, said_of = _whole_noun(form, slots, said_of, language)
    name = language.nouns.get(noun)
    if name is None and not _is_named(noun, slots["N"], language):
        return ()
    subject = _subject_of(name, said_of, language)
    if subject is None:
        return ()
    if name is not None:
        known = Relation(name, subject, value, name in _of_one_value(), certain=True)
        return ((form.weight + len(noun), known),) if _may_have(name, value) else ()
    first, _, rest = noun.partition(" ")
    one = (first in language.favourites and bool(rest)) or _is_name(value)
    return ((form.weight, Relation(f"the {noun}", subject, value, one, certain=True)),)


def _is_named(noun: str, written: str, language: _Language) -> bool:
    """Whether a noun that no table knows names a relation: no "friend" in "a friend of Bob"."""
    first, *rest = noun.split() or [""]
    if first in language.articles or len(rest) >= _NOUN_WORDS or not _forms_of_be().isdisjoint(rest):
        return False
    return (language.named and first != "" and written.islower()) or _is_sort_of(noun, language)


def _whole_noun(
    form: _Form, slots: Mapping[str, str], said_of: str | None, language: _Language
) -> tuple[str, str | None]:
    """Return the noun of a frame and the subject; a known noun may go on behind its end: "place of birth"."""
    link = form.link
    noun = " ".join(word for word in slots["N"].lower().split() if word not in language.adverbs)
    if link is not None and said_of is not None and link in said_of:
        more, _, rest = said_of.partition(link)
        longer = f"{noun}{link}{more.lower()}"
        if longer in language.nouns:
            return longer, rest
    return noun, said_of


def _before_verb(text: str, language: _Language) -> str:
    """Return the subject that a sentence begins with: it ends before a form of "to be", or a small letter."""
    split = text.split()
    least = 2 if split[0].lower() in language.articles else 1
    verbs = (place for place, word in enumerate(split) if place >= least and word in _forms_of_be())
    small = (place for place, word in enumerate(split) if place >= least and word[:1].islower())
    return " ".join(split[: next(verbs, next(small, 0))])


def _subject(text: str | None, language: _Language) -> str | None:
    """Return the key of a subject, None where it is nobody in particular or no subject."""
    text = None if text is None else text.strip(_MARKS)
    if text is None or text.lower() in language.self_:
        return SPEAKER
    if not _is_short(text, language):
        return None
    bare = _core(text)
    return None if not bare or bare.split()[0] in language.pronouns else bare


def _subject_of(relation: str | None, text: str | None, language: _Language) -> str | None:
    """Return the key of the subject of a relation; of an event "my exam" is what "the exam" is."""
    subject = _subject(text, language)
    if subject is None or relation not in _of_events():
        return subject
    return " ".join(word for word in subject.split() if word not in language.mine) or None


def _is_sort_of(noun: str, language: _Language) -> bool:
    """Whether a noun is a known one with its sort: "prof de physique", "Deutschlehrer"."""
    first, *rest = noun.split() or [""]
    if rest:
        return first in language.nouns and len(rest) > 1 and len(rest[0]) <= _LINK_CHARS
    known = (noun[at:] for at in range(_SORT_CHARS, len(noun) - _KNOWN_CHARS + 1))
    return any(each in language.nouns for each in known)


def _is_short(text: str, language: _Language) -> bool:
    """Whether a piece may be a subject or a value: neither a clause nor parts of two."""
    if language.spaceless:
        short = 0 < len(text) <= _MOST_SPACELESS and not any(each in text for each in language.particles)
        return short and not _ends_within(text)
    if not text or text.count(" ") >= _MOST_WORDS or _ends_within(text):
        return False
    split = text.split()
    if not _forms_of_be().isdisjoint(split):
        return False
    if language.joints.isdisjoint(split):
        return True
    followed = zip(split, [*split[1:], ""], strict=True)
    return not any(word in language.joints and not after[:1].isupper() for word, after in followed)


def _ends_within(text: str) -> bool:
    """Whether a sentence ends within a piece; the first pattern is the faster one."""
    return _MARK.search(text) is not None and _SENTENCE.search(text) is not None


def _is_name(value: str) -> bool:
    """Whether a value is a name or a number, as its first character tells where letters have case."""
    return not value[:1].islower()


def _is_whole_name(value: str) -> bool:
    """Whether a value is a name from its beginning to its end: "Rome", not "Rome for lunch"."""
    return _is_name(value) and not value.split()[-1][:1].islower()


def _is_bare_name(subject: str | None, language: _Language) -> bool:
    """Whether a subject is one word with a capital, which may be a place; not in scripts without spaces."""
    text = "" if subject is None else subject.strip(_MARKS)
    return not language.spaceless and text[:1].isupper() and len(text.split()) == 1


def _without_class(value: str, language: _Language) -> str:
    """Return a value without what tells its kind: "Rome" for "the city of Rome"."""
    first = value.partition(" ")[0].lower()
    if first not in language.articles and first not in language.classes:
        return value
    split = value.split()
    start = 1 if len(split) > 1 and first in language.articles else 0
    if len(split) > start + 1 and split[start].lower() in language.classes:
        start += 1
        if len(split) > start + 1 and split[start].islower() and len(split[start]) <= _LINK_CHARS:
            start += 1
        return " ".join(split[start:])
    return " ".join(split[start:]) if start and split[start][:1].isupper() else value


@lru_cache(maxsize=8_192)
def _core(text: str) -> str:
    """Return a piece in lower case without the articles that it begins with."""
    split = [word.strip(_MARKS) for word in text.casefold().split()]
    while len(split) > 1 and split[0] in _articles():
        del split[0]
    return " ".join(split)


def _prepared(plain: str, spaced: str, tokens: frozenset[str], language: _Language) -> str:
    """Return a text as the forms of a language are written; `spaced` is the text with single spaces."""
    if language.spaceless:
        return _without_adverbs(_without_date(plain, language), language)
    text = _without_date(spaced, language)
    if not language.left_out.isdisjoint(tokens):
        text = _without_adverbs(text, language)
    elif language.elided and "'" in text:
        text = _with_elided_apart(text, language)
    return _verb_second(text, language)


def _with_elided_apart(text: str, language: _Language) -> str:
    return " ".join(_apart(word, language.elided) for word in text.split())


def _without_adverbs(text: str, language: _Language) -> str:
    if language.spaceless:
        for adverb in sorted(language.adverbs, key=lambda each: (-len(each), each)):
            text = text.replace(adverb, "")
        return text
    if language.elided and "'" in text:
        text = _with_elided_apart(text, language)
    first, *rest = text.split()
    kept = [first] if first.lower().strip(",") not in language.adverbs else []
    return " ".join(kept + [word for word in rest if word.strip(",") not in language.adverbs])


def _without_date(text: str, language: _Language) -> str:
    """Return a text without the "since May" that it begins with."""
    begins = language.since.get(text.split(None, 1)[0].lower().strip(","))
    if begins is None:
        return text
    split = text.split()
    lower = [word.lower().strip(",") for word in split[:_LEAD_WORDS]]
    for begin in begins:
        end = len(begin)
        if tuple(lower[:end]) != begin:
            continue
        while end < len(lower) and (lower[end] in language.dates or lower[end].isdecimal()):
            end += 1
        if len(begin) < end < len(lower):
            return " ".join(split[end:])
    return text


def _verb_second(text: str, language: _Language) -> str:
    """Return a text with its verb behind "I", where it stood before it: "arbeite ich bei ..."."""
    first, _, behind = text.partition(" ")
    second, _, rest = behind.partition(" ")
    if second not in language.self_ or first.lower() in language.self_:
        return text
    return " ".join(filter(None, (second, first.lower(), rest)))


def _apart(word: str, elided: frozenset[str]) -> str:
    """Return a word with a space behind what ends with an apostrophe: "l' école"."""
    before, mark, behind = word.partition("'")
    return f"{before}' {behind}" if mark and behind and before.lower() in elided else word


def _is_past(text: str, tokens: frozenset[str], language: _Language) -> bool:
    """Whether a text says something of another time than today, or what somebody thinks or wishes."""
    if language.spaceless:
        return any(phrase in text for phrase in language.not_now)
    if language.past.isdisjoint(tokens):
        return False
    first, *rest = text.split()  # a later word with a capital is a name
    padded = f" {' '.join(word.strip(_MARKS) for word in (first.lower(), *rest))} "
    return any(phrase in padded for phrase in language.not_now)


@cache
def _languages() -> Mapping[str, _Language]:
    return MappingProxyType({name: _language(name) for name in languages(_TABLE)})


@cache
def _forms_by_word() -> Mapping[str, Mapping[str, Mapping[frozenset[str], Sequence[_Form]]]]:
    """Return the forms that need a word, by language and by all the words that they need."""
    found: dict[str, dict[str, dict[frozenset[str], list[_Form]]]] = {}
    for name, language in _languages().items():
        for form in language.forms:
            by_words = found.setdefault(form.needed, {}).setdefault(name, {})
            by_words.setdefault(form.words, []).append(form)
    return MappingProxyType(found)


@cache
def _known_words() -> frozenset[str]:
    """Return the words that tell whether a text is in a form, or has an adverb or a phrase of `not_now`."""
    found = {word for language in _languages().values() for form in language.forms for word in form.words}
    return frozenset(found.union(*((*each.left_out, *each.past) for each in _languages().values())))


def _language(name: str) -> _Language:
    held = table(name, _TABLE)
    spaceless = name in SPACELESS
    forms = tuple(_forms(held, spaceless=spaceless))
    adverbs, not_now = _listed(held["adverbs"]), sorted(_listed(held["not_now"]))
    since: dict[str, list[tuple[str, ...]]] = {}
    for phrase in _dates(name, "since", "from"):
        begin = tuple(phrase.split())
        since.setdefault(begin[0], []).append(begin)
    return _Language(
        forms=forms,
        nouns=MappingProxyType({noun: relation for relation, noun in _named(held["nouns"])}),
        spaceless=spaceless,
        named="named" in held,
        favourites=_listed(held.get("favourites", "")),
        self_=_listed(held["self"]),
        pronouns=_listed(held["pronouns"]),
        adverbs=adverbs,
        articles=_listed(held.get("articles", "")),
        classes=_listed(held.get("classes", "")),
        not_now=tuple(phrase if spaceless else f" {phrase} " for phrase in not_now),
        joints=words(name, "persons", "joints"),
        elided=_listed(held.get("elided", "")),
        particles=_listed(held.get("particles", "")),
        since=MappingProxyType(since),
        dates=frozenset(word for phrase in _dates(name, *_DATES) for word in phrase.split()),
        mine=words(name, "persons", "mine"),
        left_out=_needed_words(adverbs),
        past=_needed_words(not_now),
        longest=max(len(form.near) for form in forms),
    )


def _dates(language: str, *names: str) -> Sequence[str]:
    """Return the phrases that a language has under these names of its table of dates."""
    if language not in languages("dates"):
        return ()
    held = table(language, "dates")
    return tuple(
        phrase for name in names for line in held.get(name, "").splitlines() for phrase in listed(line)
    )


def _forms(held: Mapping[str, str], *, spaceless: bool) -> Iterator[_Form]:
    """Yield the forms of a table with their alternatives spelt out."""
    frames = (("", line, None) for line in filter(None, held["frames"].splitlines()))
    turned = (line.partition(" > ") for line in filter(None, held.get("turned", "").splitlines()))
    written = [
        *((relation, form, None) for relation, form in _named(held["forms"])),
        *frames,
        *(("", form, instead) for form, _, instead in turned),
    ]
    places = count()
    for relation, form, instead in written:
        for chosen in product(*(word.split("/") for word in form.removeprefix("?").split())):
            parts = tuple(_SLOT.split(" ".join(filter(None, chosen))))
            literals, slots = parts[::2], parts[1::2]
            words = frozenset[str]() if spaceless else _whole_words(parts)
            followed = zip(slots, literals[1:], (*slots[1:], ""), strict=True)
            longest = max(literals, key=len)
            near, part = longest, _ANYWHERE
            if instead is None and slots[-1] in "VP" and not literals[-1] and literals[-2]:
                near, part = literals[-2], _AT_END
            elif instead is None and slots[0] in "VP" and not literals[0] and literals[1]:
                near, part = literals[1], _AT_BEGINNING
            yield _Form(
                needed=longest[0] if spaceless else _longest(words),
                place=next(places),
                relation=relation,
                first=literals[0],
                ended=tuple(zip(slots[:-1], literals[1:-1], strict=True)),
                last_slot=slots[-1],
                last=literals[-1],
                near=near,
                part=part,
                words=words,
                weight=sum(map(len, literals)),
                link=next((link for slot, link, after in followed if slot + after == "NS"), None),
                certain=not form.startswith("?"),
                instead=instead,
            )


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Yield the relation and each of the forms or nouns on its line."""
    for line in text.splitlines():
        relation, _, listed = line.partition(":")
        yield from ((relation.strip(), each.strip()) for each in listed.split(";") if each.strip())


def _whole_words(parts: Sequence[str]) -> frozenset[str]:
    """Return the words of a form's literals that no slot touches."""
    text = "".join(literal if place % 2 == 0 else "\0" for place, literal in enumerate(parts))
    return frozenset(match.group() for match in _TOKEN.finditer(f" {text} ") if _stands_alone(match))


def _needed_words(phrases: Iterable[str]) -> frozenset[str]:
    """Return words of which a text with one of the phrases has one."""
    return frozenset(_longest(_tokens(phrase)) for phrase in phrases)


def _longest(words: Iterable[str]) -> str:
    return max(sorted(words), key=len)


def _stands_alone(match: re.Match[str]) -> bool:
    text, start, end = match.string, match.start(), match.end()
    return match.group() in ":—" or (text[start - 1] != "\0" and text[end] != "\0")


def _listed(text: str) -> frozenset[str]:
    return frozenset(filter(None, (" ".join(each.split()) for each in text.split(","))))


def _may_have(relation: str, value: str) -> bool:
    """Whether a value is of the kind that a relation has."""
    return relation not in _of_numbers() or _DIGIT.search(value) is not None


@cache
def _of_one_value() -> frozenset[str]:
    return _listed(word_sets(_PACKAGE, "relations.toml")["one"])


@cache
def _of_numbers() -> frozenset[str]:
    return _listed(word_sets(_PACKAGE, "relations.toml")["numbers"])


@cache
def _of_things() -> frozenset[str]:
    return _listed(word_sets(_PACKAGE, "relations.toml")["things"])


@cache
def _of_events() -> frozenset[str]:
    return _listed(word_sets(_PACKAGE, "relations.toml")["events"])


@cache
def _articles() -> frozenset[str]:
    return frozenset(word.strip(_MARKS) for each in _languages().values() for word in each.articles)


@cache
def _forms_of_be() -> frozenset[str]:
    return frozenset(table_of_all("claims")["forms_of_be"].split())
