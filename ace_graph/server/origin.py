"""Which requests come from a page of another site: by Origin and Sec-Fetch-Site."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

_DEFAULT_PORTS = {"http": 80, "https": 443}


def from_elsewhere(scope: Scope, headers: Headers) -> bool:
    """Whether a browser says that another website sends this: another scheme, host or port.

    What is no browser says nothing, and is not from elsewhere. A proxy with TLS names the scheme.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is None:
        return site not in (None, "same-origin", "none")
    theirs = _origin(origin)
    forwarded = headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    scheme = forwarded or str(scope["scheme"])
    if theirs is not None and site == "same-origin":
        scheme = theirs[0]  # the browser has compared it, and knows it where a proxy does not say it
    return theirs is None or theirs != _origin(f"{scheme}://{headers.get('host', '')}")


def _origin(url: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port; None where there are none."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:  # brackets that do not close, or a port that is no number
        return None
