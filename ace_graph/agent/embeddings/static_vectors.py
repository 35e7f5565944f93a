"""Static word vectors from an installed wheel: no service, no network, no torch.

The package `wordllama` (extra `embeddings`) has the vectors of 32,000 pieces of words in its wheel; the
vector of a text is the mean of its pieces'. Its files are read, its code is never imported: importing it
configures the root logger, and where a file is missing it would fetch one from the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings
from pydantic import BaseModel, Field, ValidationError

from ace_graph.base.errors import ConfigurationError, how_to_install

if TYPE_CHECKING:
    import numpy
    from tokenizers import Tokenizer

    Rows = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float16]]
FEW = 20
"""As in `matrix.centred`: the mean of these vectors over all kinds of texts is near zero, so that a small
playbook is better off without its own."""
PACKAGE = "wordllama"
INSTALL = (
    f"{how_to_install('embeddings')} (Python 3.11 to 3.13; the package has no files for later ones), "
    "or set ACE_EMBEDDINGS=off"
)
_WEIGHTS = Path("weights/l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers/l2_supercat_tokenizer_config.json")
_TENSOR = "embedding.weight"
_HEADER_BYTES = 8
_MAX_HEADER = 1_000_000


@dataclass(frozen=True)
class _Tables:
    """The tokenizer, and one row of 16-bit numbers for each of its pieces."""

    tokenizer: Tokenizer
    rows: Rows


def find_static_vectors() -> StaticVectors | None:
    """Return the installed vectors, not yet loaded; None where the extra `embeddings` is not installed.

    Raises ConfigurationError where a file of theirs is missing or damaged.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        return None
    vectors = StaticVectors(Path(spec.origin).parent, found)
    vectors.check()
    return vectors


class StaticVectors(Embeddings):
    """The mean of the vectors of a text's pieces. Loaded when first used; any thread may use it.

    `folder` is that of the installed package. A text without letters has the vector of zeros.
    """

    def __init__(self, folder: Path, package_version: str) -> None:
        self._folder = folder
        self.model = f"{PACKAGE} {package_version} {_WEIGHTS.stem}"
        self._tables: _Tables | None = None

    @property
    def loaded(self) -> bool:
        """Whether the files were read already, so that a short text is done in microseconds."""
        return self._tables is not None

    def check(self) -> None:
        """Raise ConfigurationError where a file is missing or not whole; cheap, it does not load them."""
        for path in (_WEIGHTS, _TOKENIZER):
            if not (self._folder / path).is_file():
                raise self._unusable(path, "is missing")
        try:
            _check_length(self._folder / _WEIGHTS)
        except ValidationError as error:
            raise self._unusable(_WEIGHTS, "is damaged (its header can't be read)") from error
        except (OSError, ValueError) as error:
            raise self._unusable(_WEIGHTS, f"is damaged ({error})") from error

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of `text`. Raises ConfigurationError where the files can't be read."""
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text. Raises ConfigurationError where the files can't be read."""
        if self._tables is None:
            try:
                self._tables = _read(self._folder)
            except _Damaged as error:
                raise self._unusable(error.path, f"is damaged ({error})") from error
        rows, means = self._tables.rows, list[list[float]]()
        for text in texts:
            # Case says little about meaning, and capitals split words.
            encoded = self._tables.tokenizer.encode(text.casefold(), add_special_tokens=False)
            pieces: Sequence[int] = encoded.ids
            means.append(
                rows[pieces].mean(axis=0, dtype="float32").tolist() if pieces else [0.0] * rows.shape[1]
            )
        return means

    def _unusable(self, path: Path, why: str) -> ConfigurationError:
        return ConfigurationError(
            f"the word vectors of {PACKAGE} can't be used: {self._folder / path} {why}; "
            f"install it again with pip install --force-reinstall {PACKAGE}, or set ACE_EMBEDDINGS=off"
        )


class _Tensor(BaseModel):
    data_offsets: tuple[int, int]


class _Header(BaseModel):
    tensor: _Tensor = Field(alias="embedding.weight")


class _Damaged(Exception):
    """A file of the package can't be read."""

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(str(why))
        self.path = path


@cache
def _read(folder: Path) -> _Tables:
    """Read the files, once in a process. Raises _Damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file  # pyright: ignore[reportUnknownVariableType]  half typed
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    except Exception as error:  # tokenizers raises nothing more exact
        raise _Damaged(_TOKENIZER, error) from error
    try:
        return _Tables(tokenizer, load_file(folder / _WEIGHTS)[_TENSOR])
    except (OSError, LookupError, ValueError, SafetensorError) as error:
        raise _Damaged(_WEIGHTS, error) from error


def _check_length(path: Path) -> None:
    """Raise ValueError where the file is shorter or longer than its header says."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_HEADER_BYTES), "little")
        if not 0 < length <= _MAX_HEADER:
            raise ValueError("its header can't be read")
        header = _Header.model_validate_json(file.read(length))
    expected = _HEADER_BYTES + length + header.tensor.data_offsets[1]
    if path.stat().st_size != expected:
        raise ValueError(f"{path.stat().st_size} bytes instead of {expected}")
