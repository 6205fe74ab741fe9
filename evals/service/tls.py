"""TLS from a certificate and a key file."""

from __future__ import annotations

import ssl
from pathlib import Path

from ...rubrics.errors import VenireError


def tls_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """The server's TLS settings (1.2 or later); None where neither file is given.

    Raises:
        VenireError: One file is given without the other, cannot be read, or they do not belong together.
    """
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise VenireError("--tls-cert and --tls-key go together", remedy="give both files, or neither")
    for path in (certificate, key):
        try:
            path.open("rb").close()
        except OSError as error:
            raise VenireError(
                f"{path} cannot be read: {error.strerror}",
                remedy="name the PEM files of the certificate and its key",
            ) from None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, password=_refuse_password)
    except ssl.SSLError as error:
        raise VenireError(
            f"{certificate} and {key} are not a certificate and its key: {error.reason or 'no PEM'}",
            remedy="both are PEM files; the certificate's own comes first in its chain",
        ) from None
    return context


def _refuse_password() -> str:
    raise VenireError(
        "the key is encrypted, and nobody is there to type its password",
        remedy="decrypt it into a file that only the server's user can read: openssl pkey -in KEY -out PLAIN",
    )
