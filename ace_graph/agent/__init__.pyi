from .context import ACEContext as ACEContext, LearningMode as LearningMode
from .evidence import matches_ground_truth as matches_ground_truth, quotes_truth as quotes_truth
from .resources import Resources as Resources, build_resources as build_resources
from .retriever import BulletFinder as BulletFinder
from .runtime import Run as Run, bind as bind
from .state import ACEInput as ACEInput, ACEOutput as ACEOutput, ACEState as ACEState
from .state import Learning as Learning, Memory as Memory
