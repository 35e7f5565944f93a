"""Guesses the topic and the memory type of a text by rules.

The rules are tables of patterns for English, of which the first match wins. A caller who knows the topic
passes it instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import dropwhile

from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.search.tokenize import fold
from ace_graph.memory.similarity.claim import lexicon, normalized_tokens
from ace_graph.memory.similarity.paraphrase import statement_of

_MAX_CHARS = 4_000
_MAX_LEADS = 5
_HYPHEN = re.compile(r"(?<=\w)-(?=[^\W\d])")
"""Removed first, because "read-only" is not the command "read"."""

# Patterns are compiled when they are first used; `re` keeps them.
_FRACTION = r"(?<![\w/.,])[0-9]{1,4}\s?/\s?[1-9][0-9]{0,3}(?![\w/]|[.,][0-9])"
_ABOUT_FRACTIONS = rf"{_FRACTION}|\b(?:fraction|numerator|denominator)s?\b"
_NOT_A_FRACTION = r"\b(?:24/7|9/11)\b"

_FRACTION_TOPICS = {
    "fraction_addition": rf"{_FRACTION}\s*\+|\b(?:add|adds|adding|addition|sum|plus)\b",
    "fraction_subtraction": rf"{_FRACTION}\s*[-−–]\s*[0-9]|\b(?:subtract\w*|minus|difference)\b",
    "fraction_multiplication": rf"{_FRACTION}\s*[*×·]|\b(?:multipl\w+|times|product)\b",
    "fraction_division": rf"{_FRACTION}\s*[÷:]\s*[0-9]|\b(?:divid\w+|division|reciprocal|quotient)\b",
    "fraction_comparison": r"\b(?:compar\w+|bigger|larger|smaller|greater|less than)\b",
    "fractions": r"",
}
_TOPICS = {
    "percentages": r"[0-9]\s?%|\bper\s?cent(?:s|ages?)?\b",
    "decimals": r"\bdecimals?\b|(?<![\w.])[0-9]+\.[0-9]+\s*[-+*×/÷]\s*[0-9]",
    "ratios": r"\b(?:ratios?|proportions?|proportional)\b",
    "exponents": r"\b(?:exponents?|squared|cubed|square roots?|powers? of)\b|[0-9]\s?(?:\*\*|\^)\s?[0-9]",
    "probability": r"\b(?:probabilit(?:y|ies)|odds|dice)\b",
    "statistics": r"\b(?:averages?|median|standard deviation|variance|histograms?)\b",
    "geometry": r"\b(?:triangles?|circles?|rectangles?|perimeters?|angles?|radius|diameter|geometry)\b",
    "equations": r"\b(?:equations?|algebra|solve for)\b|\b[0-9]*[xyz]\s*[-+*/]?\s*[0-9]*\s*=\s*-?[0-9]",
    "multiplication": r"\b(?:multipl\w+|times tables?)\b|[0-9]\s*[*×]\s*[0-9]",
    "division": r"\b(?:long division|divid(?:e|es|ed|ing)|division|remainders?)\b|[0-9]\s*÷\s*[0-9]",
    "subtraction": r"\bsubtract\w*\b",
    "addition": r"\baddition\b|\badd(?:ing)? (?:up )?(?:the )?numbers\b",
}

_STEP = (
    r"\bstep\s*[0-9]+\b|\bsteps?\s*:|\bhow to\b|\bfirst\b.{0,200}\bthen\b"
    r"|\bwhen\b[^,]{0,120}, (?:always|never)\b"
)
_EXPERIENCE = (
    r"\b(?:student|learner|pupil|user|child|kid)s?\b"
    r"|\b(?:prefers|likes|loves|hates|enjoys|struggles|struggled|confuses|mixes)\b"
    r"|\bcommon (?:mistake|error|misconception|slip)s?\b|\bmis(?:take|conception)s?\s*:"
    r"|\b(?:last time|yesterday|previously|this session|in the past|keeps? \w+ing|kept \w+ing)\b"
    r"|\b(?:i|my|me|he|she)\b"
)
_LEAD = (
    r"(?:please|always|never|not|first|next|then|finally|lastly|secondly|afterwards|later|do not|don't"
    r"|carefully|to)[,:]? "
    r"|(?:before|after|when|if|for|to|in|by|between|from|until|with|without|under|at|on|over|through|because"
    r"|while|during|unless|since|once|even if|[0-9]+) [^,]{1,160}, "
)
_DUTY = r"\b(?:must|should|ought|(?:has|have|needs?|is|are) to|needed|necessary|mandatory|due)\b"
_LEADING_WORDS = ("you", "we", "also", "too", ",", ";", ":")
_VERBS = """
add apply ask avoid begin break build calculate call change check choose combine compare compute confirm
convert count create cross cut decide delete divide do draw drop estimate expand factor find fix flip
follow get give go group handle identify include inspect install invert isolate keep label list log look
make match measure move multiply open pick place plot prefer put raise read reduce refactor remove rename
replace retry return review rewrite round run save scan search select send set show simplify sketch skip
solve sort split start stop store subtract switch take test try turn update use validate verify wait work
wrap write
"""


def infer_topic(text: str) -> str | None:
    """Return the topic of a text, such as `fraction_addition`, or None where no rule matches."""
    return _topic_of(text[:_MAX_CHARS])


@lru_cache(maxsize=8)
def _topic_of(text: str) -> str | None:
    """Return the topic; cached because a turn asks for that of its question several times."""
    # The beginning of a text, case-folded, with single spaces
    plain = re.sub(_NOT_A_FRACTION, " ", " ".join(fold(text[:_MAX_CHARS]).casefold().split()))
    rules = _topic_rules(re.search(_ABOUT_FRACTIONS, plain) is not None)
    return next((topic for topic, rule in rules if rule.search(plain)), None)


@cache
def _topic_rules(about_fractions: bool) -> tuple[tuple[str, re.Pattern[str]], ...]:
    rules = _FRACTION_TOPICS if about_fractions else _TOPICS
    return tuple((topic, re.compile(pattern)) for topic, pattern in rules.items())


def infer_memory_type(text: str) -> MemoryType:
    """Return `procedural` for an instruction, `episodic` for an experience with a person, else `semantic`."""
    plain = fold(text[:_MAX_CHARS]).casefold().strip(" -*\t\"'")
    if re.search(_STEP, plain):
        return "procedural"
    words = [token.word for token in normalized_tokens(_HYPHEN.sub("", text[:_MAX_CHARS]))]
    if re.search(_EXPERIENCE, _sentence(words)):
        return "episodic"
    fillers = lexicon().fillers
    led = dropwhile(lambda word: word in fillers or word in _LEADING_WORDS, words)
    if _is_imperative(_sentence(led)):
        return "procedural"
    statement = statement_of(text) if len(text) <= _MAX_CHARS and re.search(_DUTY, plain) else None
    return "procedural" if statement is not None and statement.instruction else "semantic"


def _sentence(words: Iterable[str]) -> str:
    return re.sub(r" (?=[,:])", "", " ".join(words))


def _is_imperative(plain: str) -> bool:
    """Whether the text begins with an imperative, possibly after "always" or "before ..., "."""
    verbs = _imperatives()
    for _ in range(_MAX_LEADS):
        word = re.match(r"[a-z]+(?![\w'-])", plain)
        if word and word.group() in verbs:
            return True
        lead = re.match(_LEAD, plain)
        if lead is None:
            return False
        plain = plain[lead.end() :]
    return False


@lru_cache(maxsize=1)
def _imperatives() -> frozenset[str]:
    return frozenset(_VERBS.split())
