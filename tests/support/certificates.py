"""Certificates for servers on loopback, signed by an authority of the test's own that nobody else trusts."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


def signed_for(host: str, folder: Path) -> tuple[Path, ssl.SSLContext]:
    """The authority's certificate, and what a server needs to be `host` to those who trust it."""
    authority, authority_key = folder / "authority.pem", folder / "authority.key"
    certificate, key = folder / "server.pem", folder / "server.key"
    _openssl("/CN=An authority", authority, authority_key)
    _openssl(
        f"/CN={host}",
        certificate,
        key,
        *("-CA", str(authority), "-CAkey", str(authority_key)),
        *("-addext", f"subjectAltName=DNS:{host}", "-addext", "basicConstraints=critical,CA:FALSE"),
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return authority, context


def _openssl(subject: str, certificate: Path, key: Path, *more: str) -> None:
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    command = ["openssl", "req", "-x509", *kind, "-subj", subject, *files, *more]
    subprocess.run(command, check=True, capture_output=True)
