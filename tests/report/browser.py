"""A browser driven over the WebDriver protocol, with nothing but the standard library."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["Browser", "missing", "started"]

_DRIVERS: Final = ("chromedriver",)
_BROWSERS: Final = ("chromium", "google-chrome", "chromium-browser")
_OPTIONS: Final = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")


def missing() -> str | None:
    """Return why no browser can be started, None when one can."""
    if not any(map(shutil.which, _BROWSERS)) or not any(map(shutil.which, _DRIVERS)):
        return "no browser to open the page in: needs chromium and chromedriver (Debian: chromium, chromium-driver)"
    return None


class Browser:
    """One window."""

    def __init__(self, address: str, folder: Path) -> None:
        self._address = address
        binary = next(filter(None, map(shutil.which, _BROWSERS)))
        chrome = {"binary": binary, "args": [*_OPTIONS, f"--user-data-dir={folder}"]}
        wanted = {"goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._ask("POST", "session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"session/{session['sessionId']}"

    def open(self, file: Path) -> None:
        """Show a file."""
        self._ask("POST", f"{self._session}/url", {"url": file.as_uri()})

    def ask(self, script: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        return self._ask("POST", f"{self._session}/execute/sync", {"script": f"return {script}", "args": []})

    def width(self, pixels: int) -> None:
        """Make the window so wide."""
        self._cdp("Emulation.setDeviceMetricsOverride", width=pixels, height=900, deviceScaleFactor=1, mobile=False)

    def scheme(self, name: str) -> None:
        """Prefer `light` or `dark`."""
        self._cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def complaints(self) -> list[str]:
        """Return what the browser logged, refused loads and policy violations included."""
        return [entry["message"] for entry in self._ask("POST", f"{self._session}/se/log", {"type": "browser"})]

    def close(self) -> None:
        """End the browser."""
        self._ask("DELETE", self._session)

    def _cdp(self, command: str, **parameters: Any) -> None:
        self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - the driver on this machine
            f"{self._address}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as response:
            return json.load(response)["value"]


@contextmanager
def started(folder: Path) -> Iterator[Browser]:
    """Give a browser that is gone afterwards; it keeps what it needs in `folder`."""
    driver = next(filter(None, map(shutil.which, _DRIVERS)))
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = next(filter(None, (re.search(r"successfully on port (\d+)", line) for line in process.stdout)))[1]
            browser = Browser(f"http://127.0.0.1:{port}", folder)
            try:
                yield browser
            finally:
                browser.close()
        finally:
            process.terminate()
