"""How hard hypothesis tries: `gate` always the same few examples, `few` fewer, `long` many new ones.

`few` is what runs without the heavy tests; `pytest --hypothesis-profile=long` chooses the last. No example
has a deadline, for tests never time.

A number of examples that a test sets itself stays.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.plugins.sizes import HEAVY

for name, examples in (("few", 10), ("gate", 25)):
    settings.register_profile(
        name,
        max_examples=examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.register_profile(
    "long", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("gate" if HEAVY else "few")
