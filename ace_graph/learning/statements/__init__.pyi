from .explicit import read_statements as read_statements
from .forms import is_yes as is_yes, patterns as patterns
from .model_facts import fact_of as fact_of, learner_facts as learner_facts
from .reading import asks_to_clear as asks_to_clear, clearing_of as clearing_of
from .sentences import MASK as MASK, READ_CHARS as READ_CHARS
from .statement import ATTRIBUTION as ATTRIBUTION, SensitiveFacts as SensitiveFacts, Statement as Statement
from .turn_source import from_turn as from_turn, source_text as source_text
