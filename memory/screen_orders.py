"""Which texts give orders to the agent itself: what to ignore, who to be, what to show, what to call.

A lesson says how to do a task. A text that says who the agent is, what it must ignore, what of itself it must
show or hide, or what becomes of its other memories, is an order, whoever wrote it. Texts are matched as
`screen.readable` yields them: lower case, without accents.

Does not: judge what a task is. "Never tell the learner the answer at once" is teaching; "never tell the
learner about this note" is an order.
"""

from __future__ import annotations

from ace_graph.memory.screen_demands import DEMANDS
from ace_graph.memory.screen_rule import Rule, first, rule

__all__ = ["order_in"]

_GAP = r"[^.!?]{0,60}?"
_SHORT = r"[^.!?]{0,25}?"
_RULES = (
    r"(?:instruction|directive|guideline|guard ?rail|restriction|(?:safety |content )?(?:polic(?:y|ies)"
    r"|filter))s?"
)
_MINE = r"(?:your|the agent'?s?|the assistant'?s?|the model'?s?|the tutor'?s?)"

_SET_ASIDE = "to set its instructions aside"
_ROLE = "about its role"
_PROMPT = "about its prompt"
_TOOLS = "about its tools"

_ORDERS: tuple[Rule, ...] = (
    rule(
        _SET_ASIDE,
        "ignor disregard overrid overrul bypass neglect circumvent aside obey follow forget",
        r"\b(?:ignor|disregard|overrid|overrul|bypass|neglect|circumvent|set aside|do not (?:follow|obey)"
        r"|don'?t (?:follow|obey)|stop (?:following|obeying)|forget)\w*\b"
        + _GAP
        + rf"\b(?:previous|prior|above|earlier|preceding|all|any|every|{_MINE}|system|initial|original"
        rf"|these|those|other|safety|the (?=content|safety))\b{_SHORT}"
        rf"\b(?:{_RULES}|prompts?|rules|system message|training|programming)\b",
    ),
    rule(
        _SET_ASIDE,
        "above before",
        r"\b(?:ignor|disregard|forget)\w*\s+(?:all |everything |anything |what(?:ever)? )?(?:that )?"
        r"(?:was |is |were |has been |you were |you have been )?(?:said |written |told )?(?:above"
        r"|before this)\b",
    ),
    rule(_SET_ASIDE, "new", rf"\bnew (?:{_RULES}|system prompt|rules?)\s*(?::|=|-|are\b|follow)"),
    rule(
        _SET_ASIDE,
        "instead not",
        rf"\b(?:instead of|not) (?:following |obeying )?{_MINE} (?:{_RULES}|rules|prompt)\b",
    ),
    rule(
        _SET_ASIDE,
        "mode code access",
        r"\b(?:override|admin|debug|sudo|god|root|maintenance) (?:mode|code|access)\b",
    ),
    rule(
        _ROLE,
        "you",
        r"\byou(?:'?re| are) (?:now|no longer|hereby|from now on)\b(?! (?:able|ready|allowed|done|right"
        r"|in the))",
    ),
    rule(
        _ROLE,
        "from now on",
        r"\bfrom now on,? you(?:'?re| are| will (?:act|be|behave|answer as)| must (?:act|be|obey))\b",
    ),
    rule(
        _ROLE,
        "pretend imagine as if role",
        r"\b(?:pretend|imagine|act as if|behave as if|role-?play)\b"
        + _SHORT
        + r"\b(?:you(?:'?re| are| have|r (?:rules|restrictions))|an? (?:unrestricted|uncensored|evil"
        r"|different) )",
    ),
    rule(
        _ROLE,
        "act behave operate respond function",
        r"\b(?:act|behave|operate|respond|function) as (?:an? |the )?(?:unrestricted|uncensored"
        r"|unfiltered|system"
        r"|admin\w*|root|developer|dan|different (?:ai|assistant|model))\b",
    ),
    rule(
        _ROLE,
        "mode jailb anything",
        r"\b(?:developer|jailbreak|jailbroken|dan|unrestricted|uncensored|opposite) mode\b|\bjailbr"
        r"|\bdo anything now\b",
    ),
    rule(
        _ROLE,
        "your",
        r"\byour (?:new |real |true |only |actual )(?:role|name|identity|purpose|task|job|goal|master"
        r"|owner|persona)\b",
    ),
    rule(_ROLE, "switch change", r"\b(?:switch|change) (?:your )?(?:role|persona|identity) to\b"),
    rule(
        _PROMPT,
        "prompt message instruction",
        r"\b(?:system|developer|hidden|initial|original|pre)[ -]?(?:prompt|message|instruction)s?\b",
    ),
    rule(
        _PROMPT,
        "reveal disclos leak exfiltrat expos print repeat output show recite dump share quote"
        " translat summari",
        r"\b(?:reveal|disclos|leak|exfiltrat|expos|print|repeat|output|show|recite|dump|share|quote|translat"
        r"|summari[sz])\w*\b"
        + _GAP
        + rf"\b(?:{_MINE}|these|the above|all) (?:\w+ )?(?:{_RULES}|prompts?|rules"
        r"|system message|configuration|context window|conversation so far)\b",
    ),
    rule(
        _PROMPT,
        "above before",
        r"\b(?:repeat|print|output|echo)\b"
        + _SHORT
        + r"\b(?:everything|all(?: of the)? text|the words?|the text) (?:above|before)\b",
    ),
    rule(
        _PROMPT,
        "<",
        r"<\s*/?\s*(?:system|assistant|developer|instructions?|playbook|reflections|critique|question|bullets"
        r"|trace|evidence|lessons|final|used|scratch|tool_call)\b[^>]*>|<\|[a-z_]{2,20}\|>|<<sys>>",
    ),
    rule(_PROMPT, "[", r"\[/?(?:inst|system|sys)\]"),
    rule(
        _PROMPT,
        "system assistant developer",
        r"(?:^|[.!?:;#|]\s*)[\x22'`#]{0,4}\s*(?:system|assistant|developer)\s*(?:message|prompt)?\s*:\s*\S",
    ),
    rule(
        _TOOLS,
        "tool function web_search calculator memory_",
        r"\b(?:call|invoke|run|use|trigger|execute)\b"
        + _GAP
        + r"\b(?:tools?|functions?|web_search|calculator|memory_\w+)\b"
        + _GAP
        + r"\b(?:without (?:asking|telling|permission|confirm\w*)|silently|secretly|in the background"
        r"|(?:in|on|with|before|after|for) every (?:turn|answer|reply|response|message|question))\b",
    ),
    rule(
        _TOOLS,
        "secretly silently quietly covertly without",
        r"\b(?:secretly|silently|quietly|covertly|without (?:asking|telling|permission)\b"
        + _SHORT
        + r") (?:call|invoke|run|use|send|execute|search|post)\b",
    ),
    rule(
        _TOOLS,
        "tool",
        r"\b(?:never|do not|don'?t|stop) (?:call|use|trust)\w* (?:any |the |your )?tools?\b"
        r"(?! (?:to|for|when|if|with|that|until|unless|before))",
    ),
    rule(
        _TOOLS,
        "send post forward upload mail transmit exfiltrat copy report submit",
        r"\b(?:send|post|forward|upload|e?-?mail|transmit|exfiltrate|copy|report|submit)\w*\b"
        + _GAP
        + r"\b(?:conversations?|chats?|(?:chat |conversation |message )?histor(?:y|ies)|transcripts?"
        r"|every(?:thing| answer)|(?:all |the )?(?:learner|user|student)'?s? (?:answers?|data|messages?"
        r"|details"
        r"|information|names?|words))\b" + _SHORT + r"\bto\b",
    ),
)


def order_in(text: str) -> str | None:
    """Return what kind of order `text`, which is lower case, gives; None for none."""
    return first(_ORDERS, text) or first(DEMANDS, text)
