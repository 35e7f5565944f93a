"""No test speaks TLS to another machine, so a client loads one certificate where it would load 130 for 40 ms.

Processes that tests start are told by SSL_CERT_FILE; clients of this process that don't read it, by certifi.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import certifi

_END = "-----END CERTIFICATE-----\n"


def pytest_configure() -> None:
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition(_END)
    path = Path(tempfile.gettempdir()) / f"ace-certificate-{os.getuid()}.pem"
    if not path.exists():
        made = path.with_suffix(f".{os.getpid()}")
        made.write_text(first + end, encoding="utf-8")
        made.replace(path)
    os.environ["SSL_CERT_FILE"] = str(path)
    certifi.where = lambda: str(path)
