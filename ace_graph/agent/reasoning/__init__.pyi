from .attempt import helped as helped
from .streaming import (
    AnswerParser as AnswerParser,
    ParsedAnswer as ParsedAnswer,
    parse_answer as parse_answer,
)
