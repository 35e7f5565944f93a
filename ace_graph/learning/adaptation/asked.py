"""What a run was asked for, as plain JSON: kept in its folder, and compared when it is resumed.

Does not: name the environment's code. A function that changed under the same name is not found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ace_graph.learning.adaptation.options import AdaptationOptions
from ace_graph.learning.adaptation.run_folder import digest_of
from ace_graph.learning.adaptation.sample import Environment, Sample
from ace_graph.models import choose_model
from ace_graph.store_url import policy_of

__all__ = ["describe"]


def describe(
    kind: str,
    environment: Environment,
    options: AdaptationOptions,
    data: Mapping[str, Sequence[Sample]],
    **more: object,
) -> dict[str, object]:
    """Return the run's description. Raises ModelNotConfigured, ConfigurationError."""
    return {
        "kind": kind,
        "environment": getattr(environment, "__name__", type(environment).__name__),
        "model": _model_name(options),
        **options.as_json(),
        **more,
        "policy": policy_of(options.settings).model_dump(mode="json"),
        "data": {
            name: {"samples": len(samples), "digest": digest_of(samples)}
            for name, samples in data.items()
            if len(samples)
        },
    }


def _model_name(options: AdaptationOptions) -> str:
    model = options.model
    if model is None:
        return str(choose_model(options.settings))
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return name if isinstance(name, str) else type(model).__name__
