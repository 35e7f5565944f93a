"""The manifests for Kubernetes are valid, and fit the image, the settings and the server's routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from fastapi.routing import APIRoute

from ace_graph.base import variable_names
from ace_graph.server.routes import health
from tests.packaging.repository import ROOT
from tests.packaging.test_image import DOCKERFILE

FOLDER = ROOT / "deploy" / "kubernetes"
FILES = [*FOLDER.glob("*.yaml"), *FOLDER.glob("*.yaml.example")]
Manifest = dict[str, Any]  # Any: a document of Kubernetes


def documents(files: list[Path]) -> list[Manifest]:
    return [each for file in files for each in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


MANIFESTS = documents(FILES)


def of_kind(kind: str) -> list[Manifest]:
    return [each for each in MANIFESTS if each["kind"] == kind]


def pod(deployment: Manifest) -> Manifest:
    return deployment["spec"]["template"]["spec"]


@pytest.mark.parametrize("version", ["1.29", "1.34"])
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda m: f"{m['kind']}-{m['metadata']['name']}")
def test_every_manifest_fits_the_schema_of_kubernetes(manifest: Manifest, version: str) -> None:
    kubernetes_validate.validate(manifest, version, strict=True)


def test_a_manifest_with_a_field_that_does_not_exist_is_refused() -> None:
    wrong: Manifest = {**of_kind("Service")[0], "specs": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.34", strict=True)


def test_there_are_servers_and_workers_with_all_that_they_need() -> None:
    kinds = sorted(each["kind"] for each in MANIFESTS)
    once, twice = ["ConfigMap", "Secret", "Service"], ["Deployment", "PodDisruptionBudget"]
    assert kinds == sorted([*once, *twice, *twice])


def test_settings_are_known_and_no_secret_is_in_them() -> None:
    (config,), (secret,) = of_kind("ConfigMap"), of_kind("Secret")
    assert {*config["data"], *secret["stringData"]} <= set(variable_names())
    assert set(secret["stringData"].values()) == {""}
    assert not any("SECRET" in name or "KEY" in name or "STORE" in name for name in config["data"])
    assert "deploy/kubernetes/secret.yaml" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_containers_run_unprivileged_like_the_image() -> None:
    user = int(DOCKERFILE.rpartition("USER ")[2].split()[0])
    for deployment in of_kind("Deployment"):
        spec = pod(deployment)
        assert spec["securityContext"]["runAsUser"] == user
        for container in spec["containers"]:
            limits = container["securityContext"]
            assert limits["readOnlyRootFilesystem"]
            assert limits["capabilities"] == {"drop": ["ALL"]}
            assert not limits["allowPrivilegeEscalation"]
            assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/tmp", "/data"}


def test_labels_select_the_pods_that_they_are_for() -> None:
    labels = {
        d["metadata"]["name"]: d["spec"]["template"]["metadata"]["labels"] for d in of_kind("Deployment")
    }
    for deployment in of_kind("Deployment"):
        assert deployment["spec"]["selector"]["matchLabels"] == labels[deployment["metadata"]["name"]]
    for budget in of_kind("PodDisruptionBudget"):
        assert budget["spec"]["selector"]["matchLabels"] == labels[budget["metadata"]["name"]]
    (service,) = of_kind("Service")
    assert service["spec"]["selector"] == labels["ace-graph-server"]


def test_probes_ask_routes_of_the_server_on_its_port() -> None:
    server = next(d for d in of_kind("Deployment") if d["metadata"]["name"] == "ace-graph-server")
    (container,) = pod(server)["containers"]
    (port,) = container["ports"]
    routes = {route.path for route in health.routes.routes if isinstance(route, APIRoute)}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["path"] in routes
        assert container[probe]["httpGet"]["port"] == port["name"]
    assert container["args"][-2:] == ["--port", str(port["containerPort"])]
    assert of_kind("Service")[0]["spec"]["ports"][0]["targetPort"] == port["name"]


def test_pods_have_the_time_that_stopping_takes() -> None:
    (config,) = of_kind("ConfigMap")
    server = next(d for d in of_kind("Deployment") if d["metadata"]["name"] == "ace-graph-server")
    spec = pod(server)
    waits = int(spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    needed = waits + float(config["data"]["ACE_SERVER_GRACE"]) + 10
    assert spec["terminationGracePeriodSeconds"] > needed
