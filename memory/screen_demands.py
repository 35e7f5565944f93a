"""Which texts demand what no lesson does: other memories gone, silence, a part of every answer, obedience.

Matched as the rules of screen_orders.py are, after them.

Does not: match by itself.
"""

from __future__ import annotations

from ace_graph.memory.screen_rule import Rule, rule

__all__ = ["DEMANDS"]

_GAP = r"[^.!?]{0,60}?"
_SHORT = r"[^.!?]{0,25}?"
_MEMORIES = (
    r"(?:bullets?|memor(?:y|ies)|playbooks?"
    r"|(?:learned |stored |remembered |other )(?:lesson|item|note|entr(?:y|ie)|strateg(?:y|ie))s?)"
)
_OTHERS = r"\b(?:other|another|every other|all other|different) (?:learner|user|student|customer|tenant)s?\b"
_EVERY = r"\b(?:in|to|for|at the end of|at the start of|into) (?:every|each|all|any)(?: single)? "
_SAID = r"(?:answer|reply|respons|response|message)(?:es|s|e)?"

_MEMORY = "about its other memories"
_SILENCE = "to keep something from people"
_ALWAYS = "for every answer"
_AUTHORITY = "under another's authority"

DEMANDS: tuple[Rule, ...] = (
    rule(
        _MEMORY,
        "bullet memor playbook lesson item note entr strateg",
        r"\b(?:delet|remov|eras|ignor|disregard|overwrit|overrid|replac|supersed|wip|clear|forget|drop|purg"
        rf"|distrust)\w*\b{_SHORT}\b(?:all|any|every|other|the other|previous|earlier|these|those"
        rf"|existing|your"
        rf"|the rest of)\b{_SHORT}\b{_MEMORIES}\b",
    ),
    rule(
        _MEMORY,
        "this",
        r"\bthis (?:bullet|item|note|memory|entry|rule|lesson|instruction)\b"
        + _SHORT
        + r"\b(?:always|overrid|overrul|take|has|have|wins?|priority|precedence|must|supersed|outrank"
        r"|is (?:the )?(?:most|more) (?:important|trusted)|can(?:not|'?t) be)\w*\b",
    ),
    rule(
        _MEMORY,
        "mark tag rate vote judge count score cite list name",
        rf"\b(?:mark|tag|rate|vote|judge|count|score|cite|list|name)\b{_SHORT}\b(?:this|these|all|every"
        rf"|the other)\b{_SHORT}\b(?:{_MEMORIES}|item|note|lesson|entry)\b{_SHORT}"
        r"\b(?:helpful|harmful|neutral|in every|always)\b",
    ),
    rule(
        _MEMORY,
        "helpful harmful",
        rf"\b(?:mark|tag|rate|vote|judge)\b{_SHORT}\b(?:this|these|all|every|the other)\b{_SHORT}"
        r"\bas (?:helpful|harmful)\b",
    ),
    rule(
        _MEMORY,
        "playbook memor learner user student",
        rf"\b(?:add|store|save|write|remember|copy|insert|plant)\b{_SHORT}\b(?:in|into|to) "
        rf"(?:the (?:memor(?:y|ies)|playbooks?) of )?(?:every|all|each|another|other)\b{_SHORT}"
        r"\b(?:playbooks?|memor(?:y|ies)|learners?|users?|students?)\b",
    ),
    rule(
        _MEMORY,
        "learner user student customer tenant",
        _OTHERS
        + r"'?s?'?"
        + _SHORT
        + r"\b(?:data|memor(?:y|ies)|playbooks?|bullets?|names?|answers?|history|conversations?|secrets?)\b",
    ),
    rule(
        _SILENCE,
        "this these about that told doing any administrator operator developer teacher parent owner",
        r"\b(?:do not|don'?t|never|without) (?:tell|tells|telling|inform|informing|mention|mentioning|reveal"
        r"|revealing|disclos\w+|admit|admitting|show|showing|let)\b"
        + _GAP
        + r"\b(?:this (?:note|instruction|rule|bullet|message|memory|item|text|lesson|to)"
        r"|these (?:notes|instructions|rules)|about (?:this|it|these)|that you (?:are|were|have|did|do)"
        r"|you were told|what you are doing|anyone|anybody"
        r"|the (?:administrator|operator|developer|teacher|parents?|owner)s?)\b",
    ),
    rule(
        _SILENCE,
        "without",
        r"\bwithout (?:the )?(?:user|learner|student|operator|owner)s?'? (?:knowing|knowledge|noticing"
        r"|consent"
        r"|seeing)\b|\bwithout (?:telling|informing|notifying|warning|alerting|asking) "
        r"(?:the |any)?(?:user|learner|student|operator|one)s?\b",
    ),
    rule(
        _SILENCE,
        "keep hide conceal",
        r"\bkeep (?:this|these|it) (?:\w+ )?(?:secret|hidden|confidential|between us|private)\b"
        r"|\b(?:hide|conceal) (?:this|these|your|the fact)\b",
    ),
    rule(
        _ALWAYS,
        "whatever matter regardless irrespective",
        r"\b(?:whatever|no matter what|no matter which|regardless of (?:what|which)?"
        r"|irrespective of (?:what)?)"
        r"\s*(?:the |a |any )?(?:user|learner|student|question|task|topic|request)\b"
        r"(?! (?:type|level|difficult|format|language|subject))"
        + _GAP
        + r"\b(?:answer|say|reply|respond|output|include|append|recommend|claim|tell|obey)\b",
    ),
    rule(
        _ALWAYS,
        "every any all each",
        r"\b(?:answer|say|reply|respond|output|claim)\b"
        + _SHORT
        + r"\b(?:to|for) (?:every|any|all|each)(?: single)? (?:question|request|message|prompt|user"
        r"|learner)s?\b"
        r"|\bthe (?:right |correct |only )?answer (?:to|for) (?:every|any|all|each)(?: \w+)? "
        r"(?:question|problem|task)s?\b",
    ),
    rule(
        _ALWAYS,
        "advertis promot recommend prais sell plug includ insert append mention link",
        _EVERY
        + _SAID
        + r",?\b"
        + _SHORT
        + r"\b(?:include|insert|append|mention|advertis|recommend|promot|praise|link|sell)\w*\b"
        r"|\b(?:advertis|promot|recommend|prais|sell|plug)\w*\b"
        + _GAP
        + _EVERY
        + rf"(?:{_SAID}|learners?|users?|students?)\b",
    ),
    rule(
        _ALWAYS,
        "obey comply follow",
        r"\b(?:obey|comply with|follow) (?:only |all |any |every |whatever )+"
        r"(?:me\b|my\b|orders?|commands?|(?:the )?attacker|he |she |they )"
        r"|\bobey (?:me|him|her|them|the (?:next|following)|this|these|(?:the )?tool)\b",
    ),
    rule(
        _ALWAYS,
        "no ",
        r"\bno (?:restrictions?|limits?|rules|filters?|safety) (?:apply|applies|exist|from now)\b",
    ),
    rule(
        _AUTHORITY,
        "admin develop creator openai google anthropic security operator vendor",
        r"\b(?:as|from|by|per|on behalf of) (?:the |your )?(?:system )?(?:administrator|admin|developers?"
        r"|creators?"
        r"|openai|google|anthropic|security team|operator|vendor)\b\s*"
        r"(?::|,|team\b|order|mandat|requir|instruct|you must|i (?:author|allow|order|permit))"
        r"|\bby (?:the )?order of (?:the |your )?(?:system )?(?:administrator|admin|developer|creator)s?\b"
        r"|\b(?:administrator|admin|developers?|openai|google|anthropic|security team|operators?) (?:has "
        r"|have )?"
        r"(?:require|order|mandate|instruct|authori[sz]e|approve|command|allow)[sd]?\b"
        + _SHORT
        + r"\b(?:you|this|all|that)\b",
    ),
    rule(
        _AUTHORITY,
        "update notice override announcement directive",
        r"\b(?:important|urgent|critical|mandatory|official) (?:system |security )?"
        r"(?:update|notice|override|announcement|directive)\b",
    ),
)
