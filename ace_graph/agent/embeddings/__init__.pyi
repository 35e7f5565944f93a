from .matrix import Matrix as Matrix, quantised as quantised
from .meaning import (
    Meaning as Meaning,
    Similarities as Similarities,
    StoredRows as StoredRows,
    model_of as model_of,
    stored_rows as stored_rows,
)
from .static_vectors import StaticVectors as StaticVectors, find_static_vectors as find_static_vectors
