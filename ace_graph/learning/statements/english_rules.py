"""The sentence forms in which a learner says something about themselves, as one table.

A rule matches how a clause begins. `STATEMENTS` are what a learner asks the assistant to keep (a name, a
wish, "remember that ..."). `PLAIN_FACTS` are harmless facts that are kept when mentioned in passing, one
value each (age, school year, home). `FACT` is kept only beside one of these in the same message, `STYLE`
beside one in the same sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ace_graph.learning.statements.forms import is_sensitive
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.languages.tables import FIRST


@dataclass(frozen=True)
class StatementRule:
    """A clause that begins with `pattern` is kept in `section`, from there to its end.

    With `fact` only what comes after the pattern is kept. Of a `slot` there is one value at a time.
    """

    pattern: re.Pattern[str]
    section: str
    memory_type: MemoryType
    slot: str | None = None
    fact: bool = False


_LANGUAGES = (
    "arabic|bengali|chinese|czech|danish|dutch|english|finnish|french|german|greek|hebrew|hindi|hungarian"
    "|indonesian|italian|japanese|korean|norwegian|persian|polish|portuguese|romanian|russian|spanish"
    "|swahili|swedish|thai|turkish|ukrainian|urdu|vietnamese"
)
_KEEP = (
    r"(?:remember|memori[sz]e|keep in mind|bear in mind|note|make a note|don'?t forget|do not forget"
    r"|never forget|for the record)"
)
_NO_NAMES = (
    "not|no longer|later|back|when|whenever|if|after|before|at|on|in|tomorrow|tonight|today|soon|again|maybe"
    "|hard|difficult|easy|long|short|too|spelled|spelt|pronounced|written|also|the same|a|an|anything"
)
"""What no name begins with: "call me later", "my name is hard to spell"."""
_SORTS = (
    r"short(?:er)?|brief(?:er)?|long(?:er)?|simpler?|easy|easier|detailed|clear(?:er)?|concise|plain|complete"
    r"|full|step[- ]by[- ]step|exact|precise|funny|direct"
)
_SORTED = rf"(?:(?:very|really|more|less|only|just) ){{0,2}}(?:{_SORTS}) (?:(?:and )?(?:{_SORTS}) )?"
_ANSWERS = (
    rf"{_SORTED}(?:answers|explanations|examples|sentences|steps|replies|responses|words|hints|solutions)"
)
"""Which answers a learner may wish for, in the plural: those of this message and of later ones."""
_PLEASE = r"(?:,? (?:please|pls|plz|from now on|only|thanks|thank you))"
_BRIEF = (
    rf"(?:only |just )?(?:{_SORTED}(?:answers|explanations|replies|responses)\b{_PLEASE}{{0,2}}"
    r"(?=[ .!]{0,9}$|,| and | because | since | as ))"
)
"""A wish that is one by a "please", "only" or "just" before it."""
FILLER = re.compile(
    rf"(?:please|pls|plz)\b(?![ ,:!]{{0,3}}{_BRIEF})[ ,:!]*"
    r"|(?:hi|hello|hey|ok|okay|well|oh|so|now|also|and|but|actually|by the way|btw|sorry"
    rf"|no(?! (?:more )?(?:{_SORTS})\b)"
    r"|about me|about myself|correction|update|one more thing|one thing|another thing|fyi|ps|oops)\b[ ,:!]*"
    r"|(?:what )?i (?:meant|mean)(?: to say)?(?: was)?(?: that)?[ ,:]{1,2}(?=(?:my|i|i'?m|call)\b)"
    r"|(?:could|can|would|will) you (?:(?:please|pls|plz) )?"
    r"|(?:i want you to|i'd like you to|i would like you to|you should|you must) ",
    re.IGNORECASE,
)
"""What may stand before any statement or request."""

LEAD = re.compile(
    rf"(?:always|answer|avoid|be|bear|call|clear|delete|discard|do|don'?t|drop|erase|for|forget|from|{_SORTS}"
    r"|everybody|everyone|i|i'?d|i'?m|i'?ve|in|it|it'?s|just|keep|make|memori[sz]e|my|never|no|note|only|our"
    r"|people|please|pls|plz|remember|remove|reply|reset|respond|skip|sound|speak|stop|talk|that'?s|they|use|we"
    r"|wipe|write|you)\b[:,]? \S",
    re.IGNORECASE,
)
"""How every rule here, and every request to forget, begins."""

NEGATED = re.compile(
    r"(?:do not|don'?t|no need to|you needn'?t|never|please not) (?:need to |have to )?"
    r"(?:remember|memori[sz]e|keep|store|save|note|call)\b",
    re.IGNORECASE,
)

STATEMENTS = (
    StatementRule(
        re.compile(
            rf"(?:call me|my name is|my name'?s|i am called|i'?m called) (?!(?:{_NO_NAMES})\b)\S"
            r"|(?:(?:everybody|everyone) calls me|(?:my (?:friends|family|parents|classmates)"
            r"|people|they|you (?:can|may)(?: also| just)?) call me|my nickname is|i go by)(?: the name)? "
            r"(?-i:[^\W\d_a-z])",
            re.IGNORECASE,
        ),
        "profile",
        "semantic",
        "name",
    ),
    StatementRule(
        re.compile(
            r"(?:from now on,? |always )?(?:(?:talk|speak|write|answer|reply|respond|sound)(?: to me)? "
            r"(?:like|as) (?:an? |the )?\w|be my \w|use the (?:voice|persona|style) of \w)",
            re.IGNORECASE,
        ),
        "profile",
        "procedural",
        "persona",
    ),
    StatementRule(
        re.compile(
            rf"(?:from now on,? |always )?(?:(?:talk|speak|write|answer|reply|respond)(?: to me)? "
            rf"in (?:{_LANGUAGES})\b)",
            re.IGNORECASE,
        ),
        "profile",
        "procedural",
        "language",
    ),
    StatementRule(
        re.compile(r"my (?:native |mother |first )(?:language|tongue) is (?!not\b)\w", re.IGNORECASE),
        "profile",
        "semantic",
        "native_language",
    ),
    StatementRule(
        re.compile(
            r"i (?:(?:keep|always keep|am always|often|always|usually|sometimes|still) (?:on )?"
            r"(?:mix(?:ing)? up|mess(?:ing)? up|confus(?:e|ing)|forget(?:ting)?"
            r"|get(?:ting)? [^,;:]{1,200} wrong|mistak(?:e|ing)|struggl(?:e|ing)"
            r"|(?:add|subtract|multiply|divid|swapp|dropp|miss|misread|los|revers|invert|skipp|misspell|mak)"
            r"ing)"
            r"|mix up|confuse|struggle with|have trouble with"
            r"|don'?t understand why|never know (?:when|how|which))\b",
            re.IGNORECASE,
        ),
        "misconceptions",
        "episodic",
    ),
    StatementRule(
        re.compile(
            r"i (?:really |would |much |also |usually ){0,5}"
            r"(?:prefer|like it when|love it when|hate it when|learn best)\b"
            r"|i'?d rather\b"
            rf"|i(?: (?:want|need|would like|only want)|'?d like)(?: to (?:get|have))? (?:{_ANSWERS}\b"
            r"|(?:more |fewer |no |lots of )?"
            r"(?:pictures|drawings|diagrams|examples|steps|emojis|hints|jokes)\b)"
            rf"|(?:no (?:more )?)?{_ANSWERS}{_PLEASE}{{1,2}}(?=[ .!]{{0,9}}$|,| and )"
            rf"|(?:(?:please|pls|plz),? (?:only |just )?|only |just ){_BRIEF}"
            r"|(?:please,? )?(?:keep (?:it|(?:your |the )?answers) |be )(?:short|brief|concise|simple)"
            r"(?:,? (?:please|pls|plz|from now on|always)){0,2}(?=[ .!]{0,9}$|,| and )"
            r"|(?:answer|reply|respond)(?: me)? (?:briefly|concisely)(?:,? (?:please|pls|plz|always)){0,2}"
            r"(?=[ .!]{0,9}$)"
            r"|i (?:don'?t like|dislike|hate) (?:it when\b|long\b|short\b|too\b)"
            r"|(?:from now on|in future|in the future|always|never)[, ]{1,2}(?:please )?"
            r"(?:show|give|use|explain|start|end"
            r"|include|draw|keep|write|avoid|skip|tell|answer|add|put|format)\b",
            re.IGNORECASE,
        ),
        "preferences",
        "episodic",
    ),
    StatementRule(
        re.compile(rf"{_KEEP}(?: this| it)?[:,]?(?: that)?[:,]? (?=\S)", re.IGNORECASE),
        "profile",
        "semantic",
        fact=True,
    ),
)

_NO_FACT = (
    "here|not|unsure|sorry|having|working|doing|trying|struggling|using|reading|just|going|getting|sure"
    "|thinking|done|ready|back|fine|good|ok|okay|afraid|asking|bored|lost|curious|so|very|really|still|also"
    "|now|about|stuck|confused|wondering|looking|to|been|no|had|understood|found|tried|seen|done|got|hungry|tired|happy|sad|late|angry"
)
_LIKED = (
    r"this|that|it|these|those|them|him|her|you|your|how|when|what|where|why|who|my|a lot|very|so|here"
    r"|there|one|to (?:know|see|ask|get|have|hear|do|think|say)|the (?!(?-i:[A-Z]))"
    r"|answers?|results?|being|both|either"
    r"|neither|all|everything|nothing|some|any|another|more|less"
)
_NATIONS = (
    f"{_LANGUAGES}|american|british|irish|scottish|welsh|canadian|australian|austrian|swiss|belgian|brazilian"
    "|mexican|argentinian|colombian|chilean|peruvian|cuban|indian|pakistani|israeli|iraqi|iranian|syrian|egyptian"
    "|moroccan|algerian|tunisian|turk|lebanese|afghan|nigerian|kenyan|ghanaian|ethiopian|african|asian|european"
    "|serbian|croatian|bosnian|albanian|bulgarian|slovak|slovenian|estonian|latvian|lithuanian|icelandic"
    "|taiwanese|filipino|malaysian|singaporean"
)
_NO_NAME = (
    f"{_NATIONS}|{_NO_FACT}|i|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    "|seventeen|eighteen|nineteen|twenty|grade|class|year|on|at|from|with|for|of|by|out|off|up|down|new|old|right"
    "|wrong|left|never|always|only|too|almost|because|if|when|allowed|able|a|an|the|my|your|ill|sick|great|mr|mrs"
)
LIKES = StatementRule(
    re.compile(
        rf"i (?:really |also |just ){{0,2}}(?:like|love|enjoy) (?!(?:{_LIKED})\b)[^\W\d]", re.IGNORECASE
    ),
    "profile",
    "semantic",
)
"""What somebody likes, and not "I like this one"."""
NAMED = StatementRule(
    re.compile(
        rf"i(?:'?m| am) (?!(?:{_NO_NAME})\b)"
        r"(?-i:[^\W\d_a-z](?![A-Z])[\w'’-]{1,30}(?: [^\W\d_a-z](?![A-Z])[\w'’-]{1,30}){0,2})"
        r"(?<!['’]s)(?=[ .!]{0,9}$|,| and | but | - )",
        re.IGNORECASE,
    ),
    "profile",
    "semantic",
    "name",
)
"""A name that is told by its capital letter alone: "I'm Tom"."""

_YEARS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|last|final"
_AGE = (
    r"(?:\d{1,2}|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|twenty)"
)
_TAUGHT = (
    "next|unit|lesson|topic|fractions?|decimals?|percent(?:age)?s?|algebra|geometry|division|multiplication|addition"
    "|subtraction|equations?|negative|probability|statistics|functions?|ratios?|proportions?|powers|roots"
)
"""Where a class moves to without moving house."""
PLAIN_FACTS = (
    StatementRule(
        re.compile(
            r"i(?:'?m| am) (?:almost |nearly |about |now |already )?[\w-]{1,20}(?: and a half)? years? old\b"
            rf"|i(?:'?m| am) (?:now |already |just )?{_AGE}(?: and a half)?(?: now| already| today)?"
            r"(?=[ .!]{0,9}$|,| and | but )"
            rf"|i (?:have |just )?turned {_AGE}\b",
            re.IGNORECASE,
        ),
        "profile",
        "semantic",
        "age",
    ),
    StatementRule(
        re.compile(
            rf"i(?:'?m| am) (?:now )?(?:a pupil |a student )?in (?:the |my )?"
            rf"(?:(?:\d{{1,2}}(?:st|nd|rd|th)|{_YEARS})[ -](?:grade|class|year|form)"
            r"|(?:grade|class|year|form) \w)"
            r"|i(?:'?m| am) an? (?:\d{1,2}(?:st|nd|rd|th)|\w{1,20})[ -]grader\b",
            re.IGNORECASE,
        ),
        "profile",
        "semantic",
        "grade",
    ),
    StatementRule(
        re.compile(
            r"i(?: (?:now )?live|(?:'?m| am) (?:now )?living) (?:now )?in "
            r"(?!(?:an?|my|our|fear|hope|peace|poverty|denial|constant)\b|(?-i:the [a-z]))\w"
            r"|(?:i|we)(?:'?ve| have)? (?:just |now |recently )?moved (?:house )?to "
            rf"(?!(?:an?|the|my|our|step|question|problem|part|page|chapter|number|{_TAUGHT})\b|\d)\w",
            re.IGNORECASE,
        ),
        "profile",
        "semantic",
        "home",
    ),
    NAMED,
    LIKES,
)

_NO_THING = (
    "question|problem|doubt|request|issue|task|exercise|homework|feeling|look|try|idea|point|suggestion"
)
_ABOUT = re.compile(
    rf"i(?:'?m| am|'?ve| have)(?: got)? (?!(?:{_NO_FACT})\b)"
    rf"(?!(?:an? |one |some |this |another |two |more )?(?:quick |small |new |last )?(?:{_NO_THING})s?\b)\w"
    r"|i (?:live|like|love|speak|play|study|was born|come from|go to) \w"
    r"|my (?:favou?rite \w+|birthday|mother|mom|mum|father|dad|brother|sister|family|parents|dog|cat|pet"
    r"|teacher|school|class|hobby|hobbies|job|age|religion|address|email)s? (?:is|are|has|have) \w",
    re.IGNORECASE,
)
FACT = StatementRule(_ABOUT, "profile", "semantic")
"""A plain clause about the learner. In passing it is not kept: it may be about health, belief, origin."""

BESIDE = StatementRule(
    re.compile(
        rf"(?:my|our) (?!(?:{_NO_THING}|answer|result|solution|calculation|guess|work|working|code|error"
        r"|mistake|attempt|app|point)s?\b)[\w'-]{1,30}(?: [\w'-]{1,30}){0,3}? "
        r"(?:is|are|was|were|has|have|had|will|starts?|begins?|ends?|lives?|works?|goes|likes?|loves?|needs?"
        r"|plays?|speaks?|moved)\b \S"
        r"|i (?:work|train|teach|learn|attend|own|collect|swim|ride|cook|paint|dance|sing|volunteer) \S",
        re.IGNORECASE,
    ),
    "profile",
    "semantic",
)
"""What else a learner tells of themselves in a sentence with a name, a home: "and my test is on Friday"."""

STYLE = StatementRule(
    re.compile(r"(?:please )?(?:use|keep|be|avoid|skip|don'?t|do not) \w", re.IGNORECASE),
    "preferences",
    "episodic",
)
"""A wish on how to answer, as it stands behind another one: "answer in German and keep it short"."""


Found = tuple[StatementRule, re.Match[str]]
"""A rule, and how a clause begins by it."""


def rule_of(clause: str, position: int = 0) -> Found | None:
    """Return the first rule that the clause at `position` begins with, and the match."""
    for rule in (*STATEMENTS, *PLAIN_FACTS):
        match = rule.pattern.match(clause, position)
        if match is not None and not (rule is NAMED and is_sensitive(match[0], FIRST)):  # "I'm Muslim"
            return rule, match
    return None
