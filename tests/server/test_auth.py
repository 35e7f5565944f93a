"""Whose request it is: tokens that open, and tokens that do not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fastapi.routing import APIRoute
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from pydantic import SecretStr

from ace_graph.base import ConfigurationError
from ace_graph.server import Overrides, create_app
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import CountingStore
from tests.server.serving import SECRET, HandClock, Json, Served, serving, settings_for, token

PAST = datetime.now(UTC) - timedelta(seconds=1)
LATER = datetime.now(UTC) + timedelta(hours=1)


def unsigned() -> str:
    parts = ({"alg": "none", "typ": "JWT"}, {"sub": "alice", "exp": 4_000_000_000})
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts) + "."
    )


REFUSED = {
    "none": None,
    "empty": "",
    "another scheme": f"Basic {token()}",
    "no scheme": token(),
    "no token": "Bearer",
    "not a token": "Bearer abc.def.ghi",
    "too long": "Bearer " + "x" * 9_000,
    "another secret": f"Bearer {token(secret='another secret, long enough for HS256')}",
    "expired": f"Bearer {token(exp=PAST)}",
    "no expiry": f"Bearer {token(exp=None)}",
    "not yet": f"Bearer {token(nbf=LATER)}",
    "no subject": f"Bearer {token(None)}",
    "empty subject": f"Bearer {token('')}",
    "long subject": f"Bearer {token('x' * 257)}",
    "an audience that is not ours": f"Bearer {token(aud='elsewhere')}",
    "no signature": f"Bearer {unsigned()}",
    "another algorithm": "Bearer "
    + jwt.encode({"sub": "alice", "exp": LATER}, SECRET * 2, algorithm="HS512"),
    "changed": f"Bearer {token()[:-4]}AAAA",
}


async def get(served: Served, path: str, authorization: str | None) -> httpx.Response:
    """Ask without the client's own header."""
    request = served.client.build_request("GET", path)
    del request.headers["authorization"]
    if authorization is not None:
        request.headers["authorization"] = authorization
    return await served.client.send(request)


async def test_no_token_that_is_not_valid_reaches_model_or_memory() -> None:
    store = CountingStore()
    async with serving(settings_for(), Overrides(model=ScriptedModel([]), store=store)) as served:
        replies = {name: await get(served, "/api/playbook", given) for name, given in REFUSED.items()}
        loads = store.calls.loads
    assert {name: reply.status_code for name, reply in replies.items()} == dict.fromkeys(REFUSED, 401)
    assert all(reply.headers["www-authenticate"] == "Bearer" for reply in replies.values())
    assert replies["expired"].json()["code"] == "expired_token"
    assert loads == 0


def learner_routes() -> list[tuple[str, str]]:
    routes = [each for each in create_app(settings_for()).routes if isinstance(each, APIRoute)]
    return [
        (method, re.sub(r"{\w+}", "x1", route.path))
        for route in routes
        if route.path.startswith("/api/")
        for method in sorted(route.methods or ())
    ]


async def test_every_learner_route_checks_the_token_before_the_body_and_the_memory() -> None:
    store, model, routes = CountingStore(), ScriptedModel([]), learner_routes()
    assert len(routes) > 70
    given = {
        "none": None,
        "wrong": "Bearer wrong",
        "expired": f"Bearer {token(exp=PAST)}",
    }
    async with serving(settings_for(), Overrides(model=model, store=store)) as served:
        del served.client.headers["authorization"]
        answers = {
            (method, path, name): (
                await served.client.request(
                    method,
                    path,
                    headers={"content-type": "application/json"} | ({"authorization": text} if text else {}),
                    content=b"{no json",
                )
            ).status_code
            for method, path in routes
            for name, text in given.items()
        }
    assert {route: code for route, code in answers.items() if code != 401} == {}
    assert (store.calls.loads, store.calls.commits, model.calls) == (0, [], [])


async def test_health_readiness_numbers_and_the_description_need_no_token(gate: Served) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json"):
        assert (await get(gate, path, None)).status_code == 200


async def test_the_subject_may_be_any_text_of_a_learner_id(gate: Served) -> None:
    for subject in ("alice", "x" * 256, "Ünïcödé 🦦", "auth0|5f7c", "a/b:c d"):
        assert (await get(gate, "/api/playbook", f"bearer {token(subject)}")).status_code == 200


async def test_the_audience_must_be_ours_where_one_is_set() -> None:
    async with serving(settings_for(jwt_audience="ace"), Overrides(model=ScriptedModel([]))) as served:
        replies = [
            await get(served, "/api/playbook", f"Bearer {given}")
            for given in (token(aud="ace"), token(aud=["x", "ace"]), token(aud="other"), token())
        ]
    assert [reply.status_code for reply in replies] == [200, 200, 401, 401]


@pytest.fixture
async def gate() -> AsyncIterator[Served]:
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as served:
        yield served


class Keys:
    """An issuer with an RSA and an EC key, whose public halves are in a file."""

    def __init__(self, folder: Path) -> None:
        self.rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.path = folder / "keys.json"
        self.write({"r1": RSAAlgorithm.to_jwk(self.rsa.public_key(), as_dict=True)})

    def write(self, keys: dict[str, Json]) -> None:
        listed = [{**key, "kid": name, "use": "sig"} for name, key in keys.items()]
        self.path.write_text(json.dumps({"keys": listed}), encoding="utf-8")

    def add_ec(self) -> None:
        first = RSAAlgorithm.to_jwk(self.rsa.public_key(), as_dict=True)
        self.write({"r1": first, "e1": ECAlgorithm.to_jwk(self.ec.public_key(), as_dict=True)})

    def signed(self, kid: str = "r1", algorithm: str = "RS256", key: object = None) -> str:
        chosen = key or (self.ec if kid == "e1" else self.rsa)
        claims = {"sub": "alice", "exp": LATER}
        return jwt.encode(claims, chosen, algorithm=algorithm, headers={"kid": kid})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # any key of a test


def forged_with_the_public_key(keys: Keys) -> str:
    """A token signed with the public key's text as if it were a shared secret, made by hand."""
    public = keys.rsa.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header = {"alg": "HS256", "typ": "JWT", "kid": "r1"}
    claims = {"sub": "alice", "exp": 4_000_000_000}
    told = ".".join(
        base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in (header, claims)
    )
    signature = hmac.new(public, told.encode(), hashlib.sha256).digest()
    return f"{told}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


async def test_tokens_of_a_key_set_are_verified_with_the_keys_own_algorithm(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    stranger: RSAPrivateKey = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    settings = settings_for(jwt_secret=None, jwks=str(keys.path))
    async with serving(settings, Overrides(model=ScriptedModel([]))) as served:
        given = [
            keys.signed(),
            keys.signed(key=stranger),
            keys.signed(algorithm="RS512"),
            keys.signed(kid="unknown"),
            forged_with_the_public_key(keys),
            token(),
        ]
        codes = [(await get(served, "/api/playbook", f"Bearer {each}")).status_code for each in given]
    assert codes == [200, 401, 401, 401, 401, 401]


async def test_a_new_key_is_found_without_a_restart(tmp_path: Path) -> None:
    keys, clock = Keys(tmp_path), HandClock()
    settings = settings_for(jwt_secret=None, jwks=str(keys.path))
    async with serving(settings, Overrides(model=ScriptedModel([])), clock) as served:
        new = f"Bearer {keys.signed('e1', 'ES256')}"
        assert (await get(served, "/api/playbook", f"Bearer {keys.signed()}")).status_code == 200
        assert (await get(served, "/api/playbook", new)).status_code == 401
        keys.add_ec()
        assert (await get(served, "/api/playbook", new)).status_code == 401, "not read for every stranger"
        clock.move(11)
        assert (await get(served, "/api/playbook", new)).status_code == 200
        keys.path.write_text("no longer json")
        clock.move(700)
        assert (await get(served, "/api/playbook", new)).status_code == 200, "what is known stays known"


@pytest.mark.parametrize(
    "odd",
    [
        {"kty": "OKP", "crv": "X25519", "x": "hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo", "kid": "odd"},
        {"kty": "RSA", "kid": "odd"},
        {"kty": "RSA", "alg": "none", "kid": "odd"},
        {"kty": "EC", "alg": ["ES256"], "kid": "odd"},
        {"kty": ["RSA"], "kid": "odd"},
        "no key at all",
    ],
)
async def test_a_key_that_can_not_be_used_locks_nobody_out(odd: object, tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    published = json.loads(keys.path.read_text())
    keys.path.write_text(json.dumps({"keys": [odd, *published["keys"]]}))
    settings = settings_for(jwt_secret=None, jwks=str(keys.path))
    async with serving(settings, Overrides(model=ScriptedModel([]))) as served:
        reply = await get(served, "/api/playbook", f"Bearer {keys.signed()}")
        unknown = await get(served, "/api/playbook", f"Bearer {keys.signed('odd')}")
    assert (reply.status_code, unknown.status_code) == (200, 401)


async def test_shared_secret_in_a_key_set_signs_no_token(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    published = json.loads(keys.path.read_text())
    secret = base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("=")
    shared = {"kty": "oct", "k": secret, "kid": "shared", "alg": "HS256"}
    keys.path.write_text(json.dumps({"keys": [*published["keys"], shared]}))
    signed = jwt.encode({"sub": "alice", "exp": LATER}, SECRET, algorithm="HS256", headers={"kid": "shared"})
    async with serving(
        settings_for(jwt_secret=None, jwks=str(keys.path)), Overrides(model=ScriptedModel([]))
    ) as served:
        reply = await get(served, "/api/playbook", f"Bearer {signed}")
    assert reply.status_code == 401


async def test_keys_that_can_not_be_read_are_the_servers_fault(tmp_path: Path) -> None:
    settings = settings_for(jwt_secret=None, jwks=str(tmp_path / "none.json"))
    async with serving(settings, Overrides(model=ScriptedModel([]))) as served:
        reply = await get(served, "/api/playbook", f"Bearer {token()}")
    assert (reply.status_code, reply.json()["code"]) == (503, "keys_unavailable")


async def test_keys_may_come_from_a_url(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    async with serving(settings_for(), Overrides(model=ScriptedModel([]))) as other:

        async def published() -> Json:
            return json.loads(keys.path.read_text())

        other.app.add_api_route("/keys.json", published)
        settings = settings_for(jwt_secret=None, jwks=f"{other.client.base_url}/keys.json")
        async with serving(settings, Overrides(model=ScriptedModel([]))) as served:
            reply = await get(served, "/api/playbook", f"Bearer {keys.signed()}")
    assert reply.status_code == 200


async def test_without_a_secret_only_this_machine_is_served_as_learner_local() -> None:
    store = CountingStore()
    settings = settings_for(jwt_secret=None)
    scripted = ScriptedModel(["<final>ok</final>"])
    async with serving(settings, Overrides(model=scripted, store=store)) as served:
        reply = await get(served, "/api/learner/export", None)
        elsewhere = await served.client.get("/api/playbook", headers={"host": "evil.example"})
        nowhere = await served.client.get("/api/playbook", headers={"host": "["})
        far = httpx.ASGITransport(served.app, client=("192.0.2.7", 4711))
        async with httpx.AsyncClient(transport=far, base_url="http://localhost") as other:
            foreign = await other.get("/api/playbook")
    assert reply.json()["learner_id"] == "local"
    assert (elsewhere.status_code, nowhere.status_code, foreign.status_code) == (403, 403, 403)


@pytest.mark.parametrize(("secret", "allowed"), [("x" * 31, False), ("x" * 32, True), ("ü" * 16, True)])
def test_a_secret_shorter_than_32_bytes_is_refused_when_the_server_starts(secret: str, allowed: bool) -> None:
    settings = settings_for(jwt_secret=SecretStr(secret))
    if allowed:
        create_app(settings)
        return
    with pytest.raises(ConfigurationError, match="ACE_JWT_SECRET is shorter than 32 bytes") as caught:
        create_app(settings)
    assert secret not in str(caught.value)


@pytest.mark.parametrize("origin", ["*", "app.example", "https://app.example/", "null"])
def test_what_is_no_origin_is_refused_when_the_server_starts(origin: str) -> None:
    with pytest.raises(ConfigurationError, match="ACE_SERVER_ORIGINS"):
        create_app(settings_for(server_origins=origin))
