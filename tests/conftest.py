"""What holds for every test; each part is a plugin of its own in tests/plugins."""

from __future__ import annotations

pytest_plugins = [
    "tests.plugins.browser",
    "tests.plugins.collected_once",
    "tests.plugins.few_certificates",
    "tests.plugins.heavy",
    "tests.plugins.hypothesis_profiles",
    "tests.plugins.loop_clock",
    "tests.plugins.lost_workers",
    "tests.plugins.loopback_only",
    "tests.plugins.neo4j_server",
    "tests.plugins.neo4j_wanted",
    "tests.plugins.no_skips",
    "tests.plugins.own_data",
    "tests.plugins.own_logger",
    "tests.plugins.postgres_server",
    "tests.plugins.pgbouncer",  # imports the one above
    "tests.plugins.shared_data",
    "tests.plugins.standard_suites",
    "tests.plugins.warm_python",
    "tests.plugins.in_memory",  # the last is the first to be configured
]
