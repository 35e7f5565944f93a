r"""Which texts give orders to the agent itself: what to ignore, who to be, what to show, what to call.

A lesson says how to do a task. A text that says who the agent is, what it must ignore, what of itself it must
show or hide, or what becomes of its other memories, is an order, whoever wrote it. The structure of the
sentence tells the two apart: whose rules are set aside ("your", "all previous"; not "the rule for commas"),
whether the verb reaches its object without a preposition ("ignore case in all rules" does not), whether it
is negated, who the subject is, and whether a role, not a place or a skill, follows "you are now".

Does not: judge what a task is. "Never tell the learner the answer at once" is teaching; "never tell the
learner about this note" is an order.
"""

from __future__ import annotations

from ace_graph.memory.screening.demands import DEMANDS
from ace_graph.memory.screening.rules import Rule, first, rule

__all__ = ["CONDITION", "NEGATION", "order_in"]

NEGATION = (
    r"(?:\b(?:never|do not|should not|must not|may not|can ?not|not to|don'?t|mustn'?t|shouldn'?t|can'?t)"
    r"|\bwithout) (?:ever |simply |blindly )?"
)
CONDITION = (
    r"\b(?:if|when|whenever|once) (?:you|we|i|they|people|students|learners|the \w{1,20}|an? \w{1,20}) "
)
_GAP = r"[^.!?]{0,60}?"
_SHORT = r"[^.!?]{0,25}?"
_OBJECT = (
    r"(?:[ ,'\"*-]{1,3}(?!(?:in|on|at|for|with|when|while|if|by|because|unless|until|before|after|into|as)\b)"
    r"[\w'-]{1,20}){0,6}?[ ,'\"*-]{1,3}"
)
"""What may stand between a verb and its object: no preposition, no new clause."""
_RULES = (
    r"(?:(?:instruction|directive|guideline|guard ?rail|restriction|(?:safety |content )?(?:polic(?:y|ies)"
    r"|filter)|safety (?:constraint|check|measure|protocol))s?)"
)
_MINE = r"(?:your|the agent'?s?|the assistant'?s?|the model'?s?|the tutor'?s?)"
_BEFORE = r"(?:previous|prior|above|earlier|preceding|initial|original)"
_IGNORE = (
    r"(?:ignor(?:e|ing)|disregard(?:ing)?|overrid(?:e|ing)|overrul(?:e|ing)|bypass(?:ing)?|neglect(?:ing)?"
    r"|circumvent(?:ing)?|set(?:ting)? aside|do not (?:follow|obey)|don'?t (?:follow|obey)"
    r"|stop (?:following|obeying)|forget(?:ting)?|(?:assistant|agent|model|tutor|ai|bot) (?:\w{1,12} )?"
    r"(?:ignores|disregards|bypasses|forgets))"
)
_ACT = (
    r"(?:print|repeat|output|show|tell|say|share|quote|translate|summari[sz]e|display|copy|paste|send|post"
    r"|give|reply|respond|answer|include|append|start)"
)
_LEAK = r"(?:reveal|disclos|leak|exfiltrat|expos|recit|dump)\w{0,4}"
_HIDDEN = (
    r"(?:system prompts?|hidden (?:prompt|instruction|message)s?|pre-?prompt|developer (?:prompt|message)s?)"
)

_SET_ASIDE = "to set its instructions aside"
_ROLE = "about its role"
_PROMPT = "about its prompt"
_TOOLS = "about its tools"

_ORDERS: tuple[Rule, ...] = (
    rule(
        _SET_ASIDE,
        "ignor disregard overrid overrul bypass neglect circumvent aside obey follow forget",
        rf"\b{_IGNORE}{_OBJECT}(?:{_BEFORE}|{_MINE}|system|safety|content)\b(?:,? (?!and\b"
        rf"|or\b)[\w'-]{{1,20}}){{0,3}}? "
        rf"(?:{_RULES}|prompts?|rules|system message|training|programming)\b",
        unless_before=NEGATION,
    ),
    rule(
        _SET_ASIDE,
        "ignor disregard overrid overrul bypass neglect circumvent aside obey follow forget",
        rf"\b{_IGNORE}{_OBJECT}(?:all|any|every|other|these|those|the (?=content|safety))\b"
        rf"(?: (?:of )?(?:the )?[\w-]{{1,20}}){{0,2}}? (?:of )?(?:{_RULES}|prompts?|rules)\b",
        unless_before=f"{NEGATION}|{CONDITION}",
    ),
    rule(
        _SET_ASIDE,
        "above before",
        r"\b(?:ignore|disregard|forget) (?:the above(?=\W{0,3}$|[.!,;:]| and\b)|(?:all |everything "
        r"|anything |what(?:ever)? )?(?:that )?"
        r"(?:was |is |were |has been |you were |you have been )?(?:said |written |told )?(?:above"
        r"|before this)\b)",
        unless_before=NEGATION,
    ),
    rule(
        _SET_ASIDE,
        "given told above",
        rf"\b(?:{_IGNORE}|{_ACT}|{_LEAK})\b{_OBJECT}(?:{_RULES}|rules|prompts?|(?:system )?messages?) "
        r"(?:that )?(?:you (?:were|have been|are) (?:given|told)|(?:was |were )?given to you|above)\b",
        unless_before=NEGATION,
    ),
    rule(
        _SET_ASIDE,
        "instruction guideline directive rule prompt",
        rf"\b(?:(?:all|your|any|every|its) (?:of )?(?:the |your )?(?:{_BEFORE} )?(?:rules|{_RULES}|prompts?)"
        rf"|{_BEFORE} (?:{_RULES}|prompts?)) (?:\w{{1,12}} ){{0,2}}(?:void|cancel\w{{0,5}}|obsolete|invalid"
        r"|ignored|disregarded|overridden|revoked|forgotten|lifted|deleted|suspended|no longer appl(?:y|ies)"
        r"|do(?:es)? not apply|don'?t apply)\b",
        unless_before=NEGATION,
    ),
    rule(
        _SET_ASIDE,
        "new",
        rf"\bnew (?:developer |system )?(?:{_RULES}|system prompt|rules?) ?(?::|=|-|are\b|follow)",
    ),
    rule(
        _SET_ASIDE,
        "instead not",
        rf"\b(?:instead of|not) (?:following |obeying )?{_MINE} (?:{_RULES}|rules|prompt)\b",
    ),
    rule(
        _SET_ASIDE,
        "mode code access",
        r"\b(?:override|admin|debug|sudo|god|root|maintenance) (?:mode|code|access)"
        r" ?(?:(?:is |now |has been ){0,2}(?:enabled|granted|activated|unlocked)\b|\d)",
        unless_before=r"\b(?:when|if|once|while|unless|until|after|before|where)\b[^.!?]{0,30}",
    ),
    rule(
        _SET_ASIDE, "god mode sudo mode", r"\b(?:enter|switch to|activate|unlock|: ?)(?: god| ?sudo) mode\b"
    ),
    rule(
        _ROLE,
        "you",
        r"\byou(?:'?re| are) (?:now|no longer|hereby|from now on)"
        r" (?:(?:an?|the|my|our)\b(?! (?:step|level|bit|little|lot|half|third|quarter|few|stage"
        r"|point|turn)\b)"
        r"|called|known as|bound|restricted|limited|subject|free\b|root|admin|dan\b|un\w{0,4}restricted"
        r"|uncensored|unfiltered|evil|jailbroken|in \w{1,20} mode|acting|playing|under|[\w-]{1,30}(?:'s"
        r"|, an?) )",
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
        + r"\b(?:you(?:'?re| are) (?:(?:an?|the) )?(?:\w{1,15} ){0,2}(?:model|ai|assistant|bot|chatbot|system"
        r"|unrestricted|uncensored|admin\w{0,12}|root|hacker|evil|free|without|not bound|allowed|dan\b)"
        r"|you(?:r| have(?: no)?) (?:rules|restrictions|limits|filters)|an? (?:unrestricted|uncensored|evil)"
        r" )|\bpretend to be (?:dan\b|an? (?:admin|root|unrestricted|uncensored))",
    ),
    rule(
        _ROLE,
        "with ha",
        r"\b(?:you are|ai|assistant|model|chatbot|character|persona)\b[^.!?]{0,30}"
        r"\b(?:with no|without(?: any)?|ha(?:s|ve) no) (?:ethical |safety |content |moral )?"
        r"(?:guidelines|restrictions|rules|polic(?:y|ies)|filters)\b|\byou are dan\b",
    ),
    rule(
        _ROLE,
        "act behave operate respond function",
        r"\b(?:act|behave|operate|respond|function) as (?:an? |the )?(?:unrestricted|uncensored"
        r"|unfiltered|system (?:prompt|admin)|admin\w{0,12}|root|dan|different (?:ai|assistant|model))\b",
        unless_after=r" (?:would|does|do)\b",
    ),
    rule(
        _ROLE,
        "mode jailb anything",
        r"\b(?:developer|jailbreak|jailbroken|dan|unrestricted|uncensored|opposite) mode\b"
        r"|\bjailbr(?:eak|oken) ?(?::|prompt)|\b(?:are|become|go|enter|stay) jailbroken|\bdo anything now\b",
    ),
    rule(
        _ROLE,
        "your",
        r"\byour (?:new|real|true|actual) (?:role|name|identity|purpose|task|job|goal|master|owner|persona)"
        r" ?(?:is|are|:|=|will be|becomes)\b|\byour only (?:master|owner|purpose|role|identity) ?(?:is|:)",
    ),
    rule(_ROLE, "switch change", r"\b(?:switch|change) your (?:role|persona|identity) to\b"),
    rule(
        _PROMPT,
        "system hidden prompt developer",
        rf"\b(?:{_ACT}|{_LEAK}|ignore|forget|replace|change)\b{_GAP}\b(?<!\ba ){_HIDDEN}",
        unless_before=NEGATION,
    ),
    rule(
        _PROMPT,
        "prompt message instruction",
        rf"\b(?:{_HIDDEN}|your (?:system|initial|original) (?:prompt|message|instruction)s?) (?:\w{{1,10}} )?"
        r"(?:must|should|has to|have to|shall|is to|are to) (?:\w{1,12} )?be\b",
    ),
    rule(
        _PROMPT,
        "system developer initial original message",
        rf"\b{_LEAK}\b{_SHORT}\b(?:system|developer|initial|original) (?:message|instruction)s?\b"
        rf"|\b(?:{_ACT}|{_LEAK}|what(?:'s| is| are| was| were))\b{_GAP}\byour (?:system|initial"
        rf"|original|developer) (?:\w{{1,12}} )?"
        r"(?:prompt|message|instruction)s?\b",
        unless_before=NEGATION,
    ),
    rule(
        _PROMPT,
        "reveal disclos leak exfiltrat expos print repeat output show recit dump share quote"
        " translat summari tell display",
        rf"\b(?:{_ACT}|{_LEAK})\b{_GAP}\b{_MINE} (?:\w{{1,20}} )?"
        rf"(?:{_RULES}|prompts?|rules|system message|configuration|context window|conversation so far)\b"
        r"(?! (?:of|in|for|about|to the)\b)"
        rf"|\b(?:{_ACT}|{_LEAK})\b{_SHORT}\b(?:the|all|everything) (?:of the )?(?:above|{_BEFORE})"
        r" (?:instructions|prompts?|messages?|context|conversation)\b",
        unless_before=NEGATION,
    ),
    rule(
        _PROMPT,
        "above before",
        r"\b(?:repeat|print|output|echo)\b"
        + _SHORT
        + r"\b(?:everything|all(?: of the)? text|the words?|the text) (?:above|before(?: this| that)?)"
        r"(?=\W{0,3}$|[.!?,;:]| (?:this|these|here|and|as|starting)\b)",
    ),
    rule(
        _PROMPT,
        "<",
        r"< ?/? ?(?:system|assistant|developer|instructions?|playbook|reflections|critique|question|bullets"
        r"|trace|evidence|lessons|final|used|scratch|tool_call)\b[^>]{0,100}>|<\|[a-z_]{2,20}\|>|<<sys>>",
    ),
    rule(_PROMPT, "[", r"\[/?(?:inst|system|sys)\]"),
    rule(
        _PROMPT,
        "system assistant developer",
        r"(?:^|[.!?:;#|] ?)[\x22'`#]{0,4} ?(?:system|assistant|developer) ?(?:message|prompt)? ?:"
        r"(?! ?(?:\d|[a-hj-z]\b)) ?\S",
    ),
    rule(
        _TOOLS,
        "tool function web_search calculator memory_ web search",
        r"\b(?:call|invoke|run|use|trigger|execute)\b"
        + _GAP
        + r"\b(?:tools?|functions?|web[_ ]search|calculator|memory[_ ]\w{1,20})\b"
        + _GAP
        + r"\b(?:without (?:asking|telling|permission|confirm\w{0,8})|silently|secretly|in the background"
        r"|(?:in|on|with|before|after|for) every (?:turn|answer|reply|response|message)\b"
        r"(?! (?:with|about|that|which|in|of|to|on|containing|involving|from|where)\b))",
        unless_before=NEGATION,
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
        r"\b(?:never|do not|don'?t|stop) (?:call|use|trust)(?:ing)? (?:any |the |your "
        r"|the \w{1,20} )?tools?\b"
        r"(?! (?:to|for|when|if|with|that|until|unless|before|made|of|in|on|as|near|without))",
    ),
    rule(
        _TOOLS,
        "send post forward upload mail transmit exfiltrat copy report submit",
        r"\b(?:send|post|forward|upload|e?-?mail|transmit|exfiltrate|copy|report|submit)(?:s|ing|ed)?\b"
        + _GAP
        + r"\b(?:conversations?|chats?|(?:chat |conversation |message )?histor(?:y|ies)|transcripts?"
        r"|every(?:thing| answer)|(?:all |the )?(?:learner|user|student)'?s? (?:answers?|data|messages?"
        r"|details|information|names?|words))\b" + _SHORT + r"\bto\b",
        unless_before=NEGATION,
    ),
)


def order_in(text: str) -> str | None:
    """Return what kind of order `text`, which is lower case, gives; None for none."""
    return first(_ORDERS, text) or first(DEMANDS, text)
