"""English words that exclude each other, in two tables.

Putting one for the other changes what a text says, so neither is ever taken for a typo. Only words of the
first table make two texts contradict: "increase it" and "decrease it" can't both be good advice, while
"read the file" and "write the file" are two things to do.

Words of one meaning are joined by "=" and do not exclude each other: fast and quick, unlike fast and slow.

Does not: know every pair. A word that one side alone has keeps two texts apart in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from ace_graph.memory.similarity.lexicon import groups, root

__all__ = ["are_contradictory", "are_mutually_exclusive"]

_CONTRADICTORY = """
increase=raise decrease=reduce=lower=drop | add subtract | multiply divide
add multiply | maximize minimize | most least=fewest | more less=fewer
larger=bigger=greater smaller=less | large=big small=little
greatest=largest=biggest least=smallest | highest lowest
higher lower | high low | longest shortest | longer shorter | long short | wider narrower
wide=broad narrow | faster=quicker slower | fast=quick=rapid slow | best worst | better worse | good bad
early late
earlier later | enable disable | allow=permit deny=forbid=block=prohibit | accept reject=refuse=decline
include exclude
true false | yes no | on off | left right | up down | ascending descending | forward backward
clockwise counterclockwise | positive negative | odd even | prime composite | public private
local remote global | local global | static dynamic | mutable immutable | sync async
synchronous asynchronous | required=mandatory=compulsory optional=voluntary | explicit implicit
inclusive exclusive | absolute relative | strict lenient | manual automatic | manually automatically
oldest newest | older newer | old new | hot cold | warm cool | full empty | success failure
succeed fail | pass fail | win lose | same different | similar different | equal unequal
all none some any | each none | both neither either | everything nothing | everyone nobody
always sometimes never | likes=loves dislikes=hates | like=love dislike=hate | prefer avoid=dislike
safe dangerous=unsafe | easy=simple hard=difficult | simple complex=complicated | cheap expensive
strong weak | hard soft | thick thin | deep shallow | wet dry | clean dirty | near far
monday tuesday wednesday thursday friday saturday sunday | weekday weekend
morning evening afternoon night
january february march april may june july august september october november december
red green blue yellow black white | singular plural | rise fall | grow shrink | appear disappear
alive dead | present absent | active inactive | may=might must | overestimate underestimate | and or
with without | hungry full | rich poor | young old | before after | above below | over under
quiet noisy=loud | tight loose | permanent temporary | permanently temporarily
encourage discourage | bullish bearish | acidic alkaline | approve decline=reject | beginner expert
lazy eager | leading trailing | identical separate | upgrade downgrade | warm chill | halve double
ascending descending | literally figuratively | often=frequently rarely=infrequently=seldom
constantly rarely | clear cloudy
formal casual | narrow broad | heavy light | sweet sour bitter | raw cooked | ripe unripe
inexpensive expensive | freeze thaw | tighten loosen | lengthen shorten | strengthen weaken
accelerate decelerate | inflate deflate | expand contract | gain lose
attended unattended | active passive
keep discard | reveal=disclose conceal=withhold | include omit | mention omit | confirm deny
confirm cancel | agree disagree | quickly=fast=rapidly slowly | gently vigorously
loudly quietly | tightly loosely | together separately | publicly privately
hourly daily weekly monthly quarterly yearly=annually | surplus deficit=shortage | rough smooth
fresh stale | crisp soggy | tender tough | polite rude | guilty innocent | terse verbose | brief detailed
concise lengthy | binding void | heat cool | melt freeze | inhale exhale | bright dim dark
commutative noncommutative | rational irrational | internal external
"""

_ALTERNATIVE = """
maximum=max minimum=min | first last=final | next previous | start=begin stop=end=finish
open close | insert=add delete=remove | push pop pull | read write | load save unload
import export | input output | encode decode | encrypt decrypt | compress decompress
expand collapse simplify | lock unlock | show hide | top bottom | upper lower | inside outside
inner outer | front back | horizontal vertical | row column | numerator denominator | ascend descend
old=ancient modern | light dark heavy | buy sell | gain loss lose | profit loss | income expense
asset liability | debit credit | borrow lend | send receive | give take | ask answer
question answer | parent child | ancestor descendant | source target destination | sender receiver
teacher student | north south | east west | day night | man woman | male female
median mean mode | sine cosine tangent | lcm gcd=gcf=hcf | lcd gcd=gcf=hcf
million billion thousand trillion | plus minus | sum difference product quotient
union intersection | breadth depth | client server | request response | stack queue heap
get post put delete patch | integer float string boolean | single multiple double triple
weight height width length depth | major minor | primary secondary | subject object | cause effect
theory practice | presence absence | arrive depart | attach detach | connect disconnect
deposit withdraw | install uninstall | proton neutron electron | acid base | hypothesis conclusion
premise conclusion | affect effect | adopt adapt | advice advise | quiet quite | converge diverge
convex concave | latitude longitude | prefix suffix | serial parallel | series parallel
upload download | upstream downstream | uppercase lowercase | overflow underflow
optimist pessimist | from to | text binary bytes | buyer seller | plaintiff defendant | tenant landlord
gross net | fixed variable=floating | domestic foreign | inbound outbound | incoming outgoing | entry exit
acute chronic obtuse | benign malignant | systolic diastolic | adult child | elderly young | oral written
civil criminal | premium discount surcharge | window aisle | front rear | finite infinite | head tail
indoors outdoors | senior junior | real imaginary | mild spicy | sunny rainy | majority minority
mother father | arrival departure | visible hidden | winter summer spring autumn
"""

_Groups = Mapping[str, Mapping[int, int]]

_OPPOSING = frozenset(("un", "in", "im", "ir", "il", "non", "dis", "mis", "anti", "over", "under"))
_ALTERING = frozenset(("a", "de", "pre", "post", "re", "sub", "super", "inter", "intra"))


def are_contradictory(a: str, b: str) -> bool:
    """Whether two roots are opposites: listed so, or one is the other behind a prefix (valid, invalid)."""
    return _listed_together(_table(_CONTRADICTORY), a, b) or _prefix_between(a, b) in _OPPOSING


def are_mutually_exclusive(a: str, b: str) -> bool:
    """Whether two roots name different things, however alike they look: opposites and alternatives."""
    return (
        are_contradictory(a, b)
        or _listed_together(_table(_ALTERNATIVE), a, b)
        or _prefix_between(a, b) in _ALTERING
    )


def _listed_together(table: _Groups, a: str, b: str) -> bool:
    """Whether a group holds both words, and no group as words of one meaning."""
    mine, yours = table.get(a, {}), table.get(b, {})
    shared = mine.keys() & yours.keys()
    return a != b and bool(shared) and all(mine[group] != yours[group] for group in shared)


def _prefix_between(a: str, b: str) -> str | None:
    short, long = sorted((a, b), key=len)
    return long.removesuffix(short) if len(short) > 2 and long != short and long.endswith(short) else None


@lru_cache(maxsize=2)
def _table(text: str) -> _Groups:
    """Return for each root its groups, and its meaning in each of them."""
    table: dict[str, dict[int, int]] = {}
    for number, group in enumerate(groups(text)):
        for meaning, words in enumerate(group):
            for word in words.split("="):
                table.setdefault(root(word), {}).setdefault(number, meaning)
    return MappingProxyType(table)
