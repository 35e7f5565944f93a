"""Guesses the topic and the memory type of a text by rules.

Topics and experiences are tables of patterns for English, of which the first match wins; an instruction is
known by its form in ten languages (imperatives.py). A caller who knows the topic or the type passes it.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from ace_graph.memory.bullet import Bullet, MemoryType
from ace_graph.memory.imperatives import is_imperative
from ace_graph.memory.search.tokenize import fold
from ace_graph.memory.similarity.claim import normalized_tokens
from ace_graph.memory.similarity.paraphrase import statement_of

_MAX_CHARS = 4_000

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
)
_OWN_EXPERIENCE = r"\bI\b|\b(?i:my|me|he|she)\b|^i\b"
"""A small "i" inside a text is an article of Italian."""
_DUTY = r"\b(?:must|should|ought|(?:has|have|needs?|is|are) to|needed|necessary|mandatory|due)\b"


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
    return _memory_type_of(text[: _MAX_CHARS + 1])


@lru_cache(maxsize=4_096)
def _memory_type_of(text: str) -> MemoryType:
    plain = fold(text[:_MAX_CHARS]).casefold().strip(" -*\t\"'")
    if re.search(_STEP, plain):
        return "procedural"
    if re.search(_OWN_EXPERIENCE, " ".join(token.text for token in normalized_tokens(text[:_MAX_CHARS]))):
        return "episodic"
    if is_imperative(text):
        return "procedural"
    if re.search(_EXPERIENCE, plain):
        return "episodic"
    statement = statement_of(text) if len(text) <= _MAX_CHARS and re.search(_DUTY, plain) else None
    return "procedural" if statement is not None and statement.instruction else "semantic"


def has_stated_type(bullet: Bullet) -> bool:
    """Whether somebody said which type a bullet has: the rules would give its text another one."""
    return bullet.memory_type != infer_memory_type(bullet.content)
