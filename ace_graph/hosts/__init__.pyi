from .functions import build_memory as build_memory, learn as learn, recall as recall
from .turn import Answered as Answered, Recall as Recall
