"""The image and the composed services are what docs/deploy.md says, as far as it shows without Docker."""

from __future__ import annotations

import re
from typing import Any

import yaml

from ace_graph.base import variable_names
from tests.packaging.repository import LINKED, ROOT, pyproject

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yml").read_text(encoding="utf-8"))
LET_IN = {
    line.removeprefix("!")
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    if line.startswith("!")
}


def test_the_image_runs_unprivileged_and_has_a_health_check() -> None:
    last = DOCKERFILE.rpartition("FROM ")[2]
    assert re.search(r"^USER 10001$", last, re.M)
    assert last.index("USER ") < last.index("CMD ")
    assert "HEALTHCHECK" in last
    assert "/healthz" in last
    assert ":latest" not in DOCKERFILE
    assert not re.search(r"(SECRET|PASSWORD|API_KEY)=", DOCKERFILE)


def test_the_image_sets_no_store_and_writes_to_its_volume() -> None:
    """A store of the image's own would win over the NEO4J_URI that it is given."""
    environment = re.findall(r"(\w+)=\S", DOCKERFILE.rpartition("ENV ")[2].partition("USER ")[0])
    assert not {"ACE_STORE", "ACE_MEMORY_FILE", "NEO4J_URI"}.intersection(environment)
    assert "XDG_DATA_HOME=/data" in DOCKERFILE
    assert re.search(r"^VOLUME /data$", DOCKERFILE, re.M)


def test_the_build_context_holds_what_the_image_needs() -> None:
    project = pyproject()["project"]
    needed = {"ace_graph", *LINKED, "pyproject.toml", project["readme"], *project["license-files"]}
    assert needed == LET_IN
    assert all((ROOT / name).exists() for name in LET_IN)


def test_the_extras_of_the_image_exist() -> None:
    named = re.findall(r'"\.\[([\w,]+)\]"', DOCKERFILE)
    assert named
    assert set(named[0].split(",")) <= set(pyproject()["project"]["optional-dependencies"])


def test_compose_sets_only_known_variables_and_no_secret() -> None:
    for name in ("server", "worker"):
        given: dict[str, str] = COMPOSE["services"][name]["environment"]
        ours = {each for each in given if not each.startswith("OTEL_")}
        assert ours <= set(variable_names())
        secrets = [value for key, value in given.items() if re.search("SECRET|PASSWORD|KEY", key)]
        assert all(value.startswith("${") for value in secrets)


def test_compose_publishes_only_the_servers_and_only_locally() -> None:
    ports = {name: service.get("ports", []) for name, service in COMPOSE["services"].items()}
    assert {name for name, each in ports.items() if each} == {"server"}
    assert all(str(port).startswith("127.0.0.1:") for port in ports["server"])
    assert COMPOSE["services"]["server"]["deploy"]["replicas"] == 2
