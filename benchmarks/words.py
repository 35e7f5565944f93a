"""The words and sentence frames that the texts of the benchmarks are made of.

Lists are ordered by how often their words occur, most frequent first.
"""

from __future__ import annotations

__all__ = ["CLAUSES", "FACTS", "FIELDS", "FRAMES", "LEARNERS", "QUESTIONS", "SYLLABLES", "VERBS", "Field"]

from typing import NamedTuple


class Field(NamedTuple):
    """A subject: its topic in the playbook, its things, its qualities."""

    topic: str
    things: tuple[str, ...]
    qualities: tuple[str, ...]


def _field(topic: str, things: str, qualities: str) -> Field:
    return Field(topic, tuple(things.split()), tuple(qualities.split()))


FIELDS = (
    _field(
        "fractions",
        "denominator fraction numerator multiple factor quotient remainder reciprocal numeral ratio "
        "decimal percentage divisor product half third quarter bar strip slice whole part equivalence "
        "simplification rounding estimate magnitude comparison ordering partition share portion dozen "
        "recipe ruler",
        "common equivalent improper mixed proper unlike smallest simplified repeating exact visual equal",
    ),
    _field(
        "equations",
        "equation variable term coefficient expression inequality bracket sign constant exponent root "
        "graph slope intercept function parabola vertex matrix vector logarithm polynomial identity "
        "substitution elimination factorisation domain range asymptote sequence series limit derivative "
        "integral proof",
        "linear quadratic simultaneous unknown positive negative monic rational symbolic implicit monotone",
    ),
    _field(
        "geometry",
        "triangle angle circle area perimeter radius diameter rectangle polygon volume height base "
        "diagonal tangent chord arc sector prism pyramid sphere cylinder symmetry rotation reflection "
        "translation coordinate axis bisector altitude hypotenuse sine cosine compass protractor "
        "tessellation congruence",
        "right acute obtuse parallel perpendicular regular similar congruent inscribed isosceles scalene",
    ),
    _field(
        "statistics",
        "mean median sample distribution variance deviation outlier histogram probability event outcome "
        "dice percentile quartile correlation regression hypothesis interval margin survey population "
        "bias scatter frequency tally boxplot permutation combination independence expectation likelihood "
        "prior residual",
        "random normal skewed conditional independent weighted cumulative expected confident paired sparse",
    ),
    _field(
        "programming",
        "loop function variable list index string test error exception module parameter argument branch "
        "class method iterator generator dictionary tuple recursion stack queue buffer thread lock cache "
        "parser regex database query transaction schema migration endpoint token header payload callback "
        "closure",
        "nested empty mutable immutable asynchronous lazy global local shared static generic idempotent",
    ),
    _field(
        "chemistry",
        "reaction molecule atom acid bond electron ion solution catalyst oxidation mole mass "
        "concentration titration precipitate isotope orbital valence polymer alkane ester enzyme buffer "
        "equilibrium enthalpy entropy pressure temperature solvent residue crystal indicator burette "
        "pipette flask electrolysis",
        "ionic covalent acidic alkaline saturated volatile stable reversible exothermic molar aqueous dilute",
    ),
    _field(
        "languages",
        "verb noun tense ending article adjective clause pronoun preposition adverb accent plural gender "
        "case subjunctive participle infinitive idiom vocabulary pronunciation dialogue translation "
        "paragraph comma auxiliary conjunction imperative syllable stress intonation prefix suffix "
        "register phrase dictation",
        "irregular reflexive formal informal perfect imperfect passive direct indirect compound spoken",
    ),
    _field(
        "history",
        "source treaty empire revolution century war parliament colony trade harvest plague king republic "
        "constitution reform peasant merchant guild monastery archive map border alliance siege dynasty "
        "manuscript census tariff strike suffrage abolition enlightenment industry railway chronicle "
        "relic",
        "medieval ancient modern primary secondary economic political contested imperial rural maritime",
    ),
)
"""Subjects, the first ones most frequent."""

_VERBS = """
check write draw compare find read list count split start explain simplify label convert estimate test repeat
sort replace group measure trace sketch round expand isolate name quote summarise verify translate highlight
rewrite subtract multiply divide factor substitute rearrange plot tabulate cancel annotate rehearse paraphrase
classify combine decompose invert normalise approximate generalise memorise
"""
VERBS = tuple(_VERBS.split())

FRAMES = (
    "Always {verb} the {quality} {thing} before you {verb2} the {thing2}",
    "When the {thing} is {quality}, {verb} each {thing2} on its own",
    "To {verb} a {quality} {thing}, first {verb2} the {thing2}, then {verb3} the result",
    "{who} confuses the {thing} with the {thing2} when the {thing3} is {quality}",
    "{who} prefers a picture of the {thing} to a rule about the {thing2}",
    "A {quality} {thing} never changes the {thing2}; {verb} it with {rare}",
    "If {number} steps do not {verb} the {thing}, use the {rare} method",
    "The {rare} rule says that every {thing} has at most {number} {quality} {thing2}s",
    "Do not {verb} the {thing} while the {thing2} is still {quality}",
    "Common mistake: to {verb} the {thing} instead of the {quality} {thing2}",
    "{who} solved {number} exercises on the {thing} and stumbled over the {quality} {thing2}",
    "Use {code} to {verb} the {thing}; it fails when the {thing2} is {quality}",
    "{code} returns the {quality} {thing}, not the {thing2}",
    "Check the {thing} against the {thing2} on page {number} of {rare}",
    "For a {thing} of {number} or more, {verb} the {quality} {thing2} first and {verb2} the {thing3} last",
    "Remember the {rare} example: the {thing} was {quality} because nobody did {verb} the {thing2}",
    "Write the {thing} under the {thing2} and {verb} both, so that the {quality} {thing3} stays visible",
    "In {rare}, a {quality} {thing} is called a {thing2}",
    "Step 1: {verb} the {thing}. Step 2: {verb2} the {thing2}. Step 3: {verb3} the {quality} {thing3}",
    "A test with {number} {thing}s shows whether the {thing2} is {quality}",
    "Ask for the {thing} before giving the {quality} {thing2}; a hint about the {thing3} is enough",
    "The answer is wrong whenever the {thing} has more than {number} {thing2}s",
    "{who} learns the {thing} best with {number} short examples and one {quality} {thing2}",
    "Compare the {thing} in {rare} with the one in {rare2}: only the {thing2} is {quality}",
)

CLAUSES = (
    "because the {thing} hides the {thing2}",
    "even if the {quality} {thing} looks familiar",
    "unless {code} says otherwise",
    "as in exercise {number} of {rare}",
    "and say aloud why the {thing} is {quality}",
    "otherwise the {thing2} is counted {number} times",
    "which {rare} calls the {quality} {thing}",
    "so that a later step can {verb} it again",
    "since {number} of the last answers forgot the {thing}",
    "then {verb} what is left of the {thing2}",
    "and {verb} the units of the {thing} at the end",
    "if time is short, {verb} only the {quality} {thing}",
)

FACTS = (
    "{} lives in {}",
    "{} works for {}",
    "{} wohnt in {}",
    "{} habite à {}",
    "{} vive en {}",
    "{} woont in {}",
    "{} живёт в {}",
    "{}住在{}",
)
"""Who lives or works where, for two names."""
LEARNERS = ("The learner", "The student", "The pupil", "The child", "The user")

QUESTIONS = (
    "How do I {verb} the {quality} {thing}?",
    "What is the difference between a {thing} and a {thing2}?",
    "Why is my {thing} {quality} when I {verb} the {thing2}?",
    "Can you help me {verb} the {thing} in {rare}?",
    "What should I do first when the {thing2} comes out wrong and the {thing} is {quality}?",
    "What does {code} do with a {quality} {thing}?",
    "Please explain the {rare} rule for a {thing}.",
    "How many {thing}s does a {quality} {thing2} have?",
    "Is it better to {verb} or to {verb2} the {thing} before the {thing2}?",
    "Give me {number} exercises on the {quality} {thing}",
    "When may I {verb} a {thing}?",
    "My teacher says that the {thing} has to be {quality}, but {rare} says the {thing2} has. Who is right?",
)

_SYLLABLES = """
mar tel vin kor san del ro ber li nak tor fen gal mo ris pe lan dov ha zin cal ter wes bri nor sul ka ver man
os ti ren dal fro my qua lex pol ax
"""
SYLLABLES = tuple(_SYLLABLES.split())
"""Rare names are put together of these."""
