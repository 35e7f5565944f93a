from .order_score import features as features, scorer as scorer
from .rules import (
    Rule as Rule,
    folded as folded,
    letters_apart as letters_apart,
    patterns_of as patterns_of,
    read_rules as read_rules,
    readings as readings,
    rules_in as rules_in,
)
from .secrets import (
    entropy as entropy,
    has_bank_account as has_bank_account,
    has_card as has_card,
    redact as redact,
    redact_query as redact_query,
)
