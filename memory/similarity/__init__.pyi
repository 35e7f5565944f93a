from .claim import parse_claim as parse_claim, unit_of as unit_of
from .compare import ClaimComparison as ClaimComparison, mergeable_scope as mergeable_scope
from .guards import are_contradictory as are_contradictory, are_mutually_exclusive as are_mutually_exclusive
from .losses import items_of as items_of
from .paraphrase import say_the_same as say_the_same, statement_of as statement_of
from .typos import (
    correct_typos as correct_typos,
    is_typo as is_typo,
    may_be_a_name as may_be_a_name,
    same_spelling as same_spelling,
)
