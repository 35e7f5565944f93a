from .parser import Problem as Problem, find_problem as find_problem, unanswered as unanswered
from .preferences import (
    find_restatement as find_restatement,
    format_as as format_as,
    requested_form as requested_form,
)
from .solver import (
    Kind as Kind,
    WorkedSolution as WorkedSolution,
    asked_number as asked_number,
    explain_number as explain_number,
    solve as solve,
)
from .tutor import OfflineTutor as OfflineTutor
