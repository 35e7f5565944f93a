"""Which texts demand what no lesson does: other memories gone, silence, a part of every answer, obedience.

Matched as the rules of prompt_injection.py are, after them. What tells a demand from advice: it is about this
note or the agent's own memories, not about notes; it puts something foreign into every answer, not a unit; it
speaks for somebody to the agent, not about somebody.

Does not: match by itself.
"""

from __future__ import annotations

from ace_graph.memory.screening.rules import Rule, rule

__all__ = ["DEMANDS"]

_GAP = r"[^.!?]{0,60}?"
_SHORT = r"[^.!?]{0,25}?"
_NOT = r"\b(?:never|not|n'?t|forbid\w{0,5}|illegal|forbidden|nobody|no one)\b[^.!?]{0,40}"
_OTHER = r"(?:other|previous|earlier|existing|stored|remaining|learned|remembered|its|your)"
_MEMORIES = (
    rf"(?:(?:{_OTHER} |the rest of (?:the|your) )(?:\w{{1,15}} )?"
    r"(?:bullets?|memories|playbooks?|lessons?|strateg(?:y|ies))"
    r"|your memory|playbooks?|memories)"
)
_EVERY = r"\b(?:in|to|for|at the end of|at the start of|into|with|of) (?:every|each|all|any)(?: single)? "
_SAID = r"(?:answer|reply|respons|response|message)(?:es|s|e)?"
_FOREIGN = (
    r"(?:advert\w{0,10}|ads?|commercials?|shops?|stores?|casino\w{0,8}|brands?|products?|sponsors?|coupons?"
    r"|discounts?|promo\w{0,10}|slogans?|websites?|urls?|links?|my \w{1,20}"
    r"|the (?:words?|phrases?|sentences?|slogan|name) )"
)
_PRAISE = r"(?:advertis|promot|recommend|prais|sell|plug)\w{0,6}"
_THIS = r"this (?:bullet|item|note|memory|entry|rule|lesson|instruction)"
_WHO = (
    r"(?:system )?(?:administrators?|admins?|developers?|creators?|openai|google|anthropic|security team"
    r"|operators?|vendors?)"
)

_MEMORY = "about its other memories"
_SILENCE = "to keep something from people"
_ALWAYS = "for every answer"
_AUTHORITY = "under another's authority"

DEMANDS: tuple[Rule, ...] = (
    rule(
        _MEMORY,
        "bullet memor playbook lesson strateg",
        r"\b(?:delet|remov|eras|ignor|disregard|overwrit|overrid|replac|supersed|wip|clear|forget|drop|purg"
        rf"|distrust)(?:e|ing)?\b{_SHORT}\b{_MEMORIES}\b",
    ),
    rule(
        _MEMORY,
        "this",
        rf"\b{_THIS} (?:\w{{1,12}} )?(?:overrid\w{{1,3}}|overrul\w{{1,3}}|supersed\w{{1,3}}|outrank\w{{0,2}}"
        r"|(?:takes?|has|have) (?:\w{1,12} )?(?:priority|precedence)|wins?) (?:over )?(?:the )?"
        r"(?:all|any|every|other|rest|previous|your|everything|anything)\b"
        r"|\bthis (?:bullet|note|memory|entry|instruction) (?:\w{1,12} )?(?:overrid\w{1,3}|overrul\w{1,3}"
        r"|supersed\w{1,3}|outrank\w{0,2}|must|wins?|can(?:not|'?t) be|is (?:the )?(?:most|more)"
        r" (?:important|trusted)|(?:takes?|has) (?:\w{1,12} )?(?:priority|precedence))\b",
    ),
    rule(
        _MEMORY,
        "ignor disregard",
        r"\b(?:do not|don'?t|never) (?:ignore|disregard|remove|delete|forget) (?:this|these) "
        r"(?:bullet|note|memory|entry|instruction)s?\b",
    ),
    rule(
        _MEMORY,
        "mark tag rate vote judge count score cite list name",
        rf"\b(?:mark|tag|rate|vote|judge|count|score|cite|list|name)\b{_SHORT}\b(?:this|these|all|every"
        rf"|the other)\b{_SHORT}\b(?:{_MEMORIES}|bullets?|items?|notes?|lessons?|entr(?:y|ies))\b{_SHORT}"
        r"\b(?:helpful|harmful|in every|always)\b",
    ),
    rule(
        _MEMORY,
        "helpful harmful",
        rf"\b(?:mark|tag|rate|vote|judge)\b{_SHORT}\b(?:this|these|all|every|the other)\b{_SHORT}"
        r"\bas (?:helpful|harmful)\b",
    ),
    rule(
        _MEMORY,
        "playbook memor",
        rf"\b(?:add|store|save|write|remember|copy|insert|plant)\b{_GAP}\b(?:in|into|to) "
        rf"(?:the (?:memor(?:y|ies)|playbooks?) of )?(?:every|all|each|another|other)\b{_SHORT}"
        r"\b(?:playbooks?|memor(?:y|ies)|learners?|users?|students?)\b",
    ),
    rule(
        _MEMORY,
        "learner user student customer tenant",
        r"\b(?:show|reveal|give|tell|list|print|read|share|copy|use|access|fetch|include|send|look up|belong)"
        rf"s?\b{_GAP}\b(?:other|another|every other|all other|different) (?:learner|user|student|customer"
        rf"|tenant)s?\b'?s?'?{_SHORT}"
        r"\b(?:data|memor(?:y|ies)|playbooks?|bullets?|names?|answers?|history|conversations?|secrets?)\b",
        unless_before=_NOT,
    ),
    rule(
        _SILENCE,
        "this these about that told operator administrator",
        r"\b(?:do not|don'?t|never|without) (?:tell|tells|telling|inform|informing|mention|mentioning|reveal"
        r"|revealing|disclos\w{1,4}|admit|admitting|show|showing|let)\b"
        + _GAP
        + r"\b(?:this (?:note|instruction|rule|bullet|message|memory|item|text|lesson|to\b)"
        r"|these (?:notes|instructions|rules)|about (?:this|these)\b|about it\b(?=\W{0,3}$|[.!?,;])"
        r"|that you (?:were (?:told|asked|instructed|given)|have been|are (?:instructed|told|following))"
        r"|you were (?:told|instructed)|the (?:administrator|operator)s?)\b",
        unless_after=r" (?:until|before|unless|yet)\b",
    ),
    rule(
        _SILENCE,
        "without",
        r"\bwithout (?:the )?(?:user|learner|student|operator|owner)'?s?'? (?:knowing|knowledge|noticing"
        r"|seeing)\b|\bwithout (?:telling|informing|notifying|warning|alerting) "
        r"(?:the |any)?(?:user|learner|student|operator|one)s?\b",
        unless_before=_NOT,
    ),
    rule(
        _SILENCE,
        "keep hide conceal",
        r"\bkeep (?:this|these|it)(?: (?:note|rule|instruction|message|lesson|memory))?"
        r" (?:secret|confidential|between us|hidden from|private from|to yourself)\b"
        r"|\b(?:hide|conceal) (?:(?:this|these) (?:note|rule|instruction|bullet|memory|message|lesson|text)"
        r"|your (?:instruction|rule|prompt|purpose|identity)|the fact that you)",
    ),
    rule(
        _ALWAYS,
        "whatever matter regardless irrespective",
        r"\b(?:whatever|no matter what|no matter which|regardless of (?:what|which)?"
        r"|irrespective of (?:what)?)"
        r" ?(?:the |a |any )?(?:user|learner|student|question|task|topic|request)\b"
        r"(?! (?:type|level|difficult|format|language|subject))"
        + _GAP
        + r"\b(?:say|output|include|append|recommend|claim|tell|obey"
        r"|(?:answer|reply|respond)(?! (?:in|with (?:an?|the|full|short)|using|by|briefly|politely|first)\b))"
        r"\b",
    ),
    rule(
        _ALWAYS,
        "every any all each",
        r"\b(?:say|claim|output|answer|reply|respond)s? (?!to |for |in |briefly|politely)(?:with )?"
        r"(?:\w{1,20} ){1,3}(?:to|for) (?:every|any|all|each)(?: single)? "
        r"(?:question|request|message|prompt|user|learner)s?\b"
        r"|\b(?:answer|reply to) (?:every|any|all|each) (?:question|request|message)s? with (?!an? |the )\w"
        r"|\bthe (?:right |correct |only )?answer (?:to|for) (?:every|any|all|each)(?: \w{1,20})? "
        r"(?:question|problem|task)s?\b(?! (?:of|in|on) (?:this|these|the)\b)",
    ),
    rule(
        _ALWAYS,
        "every all each any",
        rf"{_EVERY}{_SAID}\b{_SHORT}\b(?:includ|insert|append|mention|link|add)\w{{0,3}}\b{_SHORT}\b{_FOREIGN}"
        rf"|\b(?:includ|insert|append|mention|link|add)\w{{0,3}}\b{_GAP}\b{_FOREIGN}\b{_GAP}{_EVERY}{_SAID}\b"
        rf"|{_EVERY}{_SAID}\b{_SHORT}\b{_PRAISE} (?!\w{{1,20}}ing\b|to |that |an? |the |both )"
        rf"|\b{_PRAISE} (?!\w{{1,20}}ing\b|to |that |an? |the |both ){_GAP}{_EVERY}{_SAID}\b",
        unless_before=r"\b(?:never|not|n'?t) ",
    ),
    rule(
        _ALWAYS,
        "obey comply follow",
        r"\b(?:obey|comply with|follow) (?:only |all |any |every |whatever ){1,3}"
        r"(?:me\b|my\b|orders?|commands?|(?:the )?attacker|he |she |they )"
        r"|\bobey (?:me|him|her|them|the (?:next|following)|this|these|(?:the )?tool)\b",
    ),
    rule(
        _ALWAYS,
        "no ",
        r"\bno (?:restrictions?|limits?|rules|filters?|safety) (?:apply|applies|exist)"
        r"(?: from now on| to (?:you|learner|user|student|me\b|this )|(?=\W{0,3}$|[.!,;]))"
        r"|\bno \w{1,12} from now",
    ),
    rule(
        _AUTHORITY,
        "admin develop creator openai google anthropic security operator vendor",
        rf"\bas (?:the |your ){_WHO}\b,? (?:i|we)\b"
        rf"|\b(?:from|by|per|on behalf of) (?:the |your )?{_WHO}\b"
        r"(?: ?:|'?s? (?:order|mandate|instruction|command)|,? you (?:must|shall|have to|are to))"
        rf"|\bby (?:the )?order of (?:the |your )?{_WHO}\b"
        rf"|\b{_WHO} (?:has |have )?(?:require|order|mandate|instruct|authori[sz]e|approve|command"
        rf"|allow)[sd]?\b"
        r" (?:that )?(?:you\b|the (?:assistant|agent|model|tutor)|all (?:that|this|of this)|this chat"
        r"|everything)",
    ),
    rule(
        _AUTHORITY,
        "update notice override announcement directive",
        r"\b(?:important|urgent|critical|mandatory|official) (?:system |security )?"
        r"(?:update|notice|override|announcement|directive)\b[^?]{0,100}?\b(?:you (?:must|are"
        r"|have to|shall|will)"
        r"|your|ignore|obey|disregard|forget|override|reveal|the (?:assistant|model|agent)"
        r"|(?:store|save|remember) this)\b",
    ),
)
