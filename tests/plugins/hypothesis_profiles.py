"""How hard hypothesis tries: `gate` always the same few examples, `long` many new ones.

`pytest --hypothesis-profile=long` chooses the second. No example has a deadline, for tests never time.

A number of examples that a test sets itself stays.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "gate", max_examples=25, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "long", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("gate")
