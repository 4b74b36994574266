"""The service over TLS: only one whose certificate the system trusts."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.turn_memory.conftest import HINOS, events
from tests.turn_memory.service import Service

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl, which makes certificates, is missing")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a certificate for 127.0.0.1 that vouches for itself, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
        timeout=60,
    )  # fmt: skip
    return certificate, key


@pytest.fixture
def secure(hinos: Service, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Service:
    """Return the service behind TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    hinos.socket = context.wrap_socket(hinos.socket, server_side=True)
    monkeypatch.setenv("HINOS_MEMORY_URL", hinos.url.replace("http:", "https:"))
    return hinos


def test_a_trusted_service(
    make: Any, secure: Service, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A certificate among those of the system is good, and `SSL_CERT_FILE` says which these are."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert events(make("echo", turn_memory=HINOS).run({})) == ["memory.committed"]
    assert secure.asked == ["prepare", "commit"]


def test_a_service_nobody_vouches_for(make: Any, secure: Service) -> None:
    """No gene runs, and what the user says is not sent."""
    result = make("echo", turn_memory=HINOS).run({})
    assert (result.status, result.error.code, result.genes) == ("failed", "TURN_MEMORY", ())
    assert "CERTIFICATE_VERIFY_FAILED" in result.error.message
    assert secure.asked == []
