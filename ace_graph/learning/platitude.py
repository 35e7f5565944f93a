"""A platitude: a lesson without a subject, such as "check the result of questions like this in a second way".

What a lesson is about stands in the words that are left when the words are taken away that fit any lesson:
how to work carefully, what becomes of answers and questions, who takes part. A lesson of which none is left
says nothing that a good assistant does not do anyway.
"""

from __future__ import annotations

from functools import lru_cache

from ace_graph.memory.search.tokenize import tokens

__all__ = ["is_platitude"]

_GENERIC = """
a ability able about above accept accordingly accuracy accurate accurately across actual actually add
additional after again ahead aim all also always an and answer answered answering answers any anything
apologise apologize apology apply approach appropriate are as ask asked asking asks assistant assume assuming
assumption assumptions at attention attentive avoid avoided avoiding avoids aware back bad based be because
been before begin being benefit best better between both break build but by came can care careful carefully
careless carelessness cases cause causes certain change check checked checking checks clarification clarify
clear clearer clearly come comes coming complete completely completeness complex comprehensive concern
confident confirm confirmed consider considering consistent consistently context continue continuously
conversation correct corrected correcting correction corrections correctly correctness could crucial deal
deeply deliver despite details did different difficult do does doing don't done double double-check
doublecheck due during each earlier easy effective effectively efficient effort either else end ensure ensures
ensuring error errors essential even every everything exact exactly expectations expected experience explain
explaining explanation explanations explicitly fact facts factual fail failed failing fails false feedback
final finally find finish finished first fix focus follow following for from full fully further future gave
general generally get gets give given gives giving go going good great guess guessing had happen happened
happens hard has have having he help helped helpful helping helps her here him his honest how however i idea
if importance important improve improved in incorrect incorrectly inform information initial input instead
instruction instructions interaction into involved is issue issues it it's its itself just keep key kind know
knowing knowledge known last later learn learned learner learner's learners learning least lesson lessons let
like likely listen logic logical look looking made main make makes making manner many matter may me mean
meaning meet message messages method methods mind mindful missing mistake mistaken mistakes misunderstanding
more most much must my need needed needs never new next no not note nothing now of off often ok on once one
ones only or order other others our out outcome output over own part particular parts past patience pay
perfect perform performance please point points polite possible potential precise precisely present previous
previously prior problem problems proceed process proper properly provide provided provides providing purpose
quality query querying question questions quick quickly quite rather read reading reads really reason
reasonable reasoning recheck reflect related relevant reliable reliably rely remember replies reply replying
request requests require required requirement requirements respect respectful respond responding response
responses result results rethink review reviewed reviewing right same satisfied say saying says second see
seek self sense set should similar simple simply since situation situations small smaller so solution
solutions solve solved solving some someone something specific specifically start state statement statements
stay step steps still strategy student student's students succeed success successful successfully such
suitable sure take takes task tasks tell than that that's the their them then there there's these they thing
things think thinking this thorough thoroughly those thought thoughtful through time times to together told
too top topic topics toward towards true trust truth try trying twice two type unclear under understand
understanding understood until up upon us use used useful user user's users using valid validate value
verified verifies verify verifying very via want wants was way ways we well went were what what's whatever
when whenever where whether which while who whole why will with within without word words work worked working
works would wrong you your
"""


def is_platitude(text: str) -> bool:
    """Whether no word of `text` names a subject, so that it fits any question."""
    return all(token.casefold() in _generic() for token in tokens(text))


@lru_cache(maxsize=1)
def _generic() -> frozenset[str]:
    return frozenset(_GENERIC.split())
