"""The page in a real browser: it loads nothing, runs nothing, and can be read."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.browser import Browser, missing, started
from tests.report.conftest import HOSTILE, USER, WRITER, AddGene

from rotifer_host import Project, Report

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Give a browser."""
    with started(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def page(project: Project, add_gene: AddGene, tmp_path: Path) -> Path:
    """Write the page of a run with two genes, hostile text everywhere, and a refused call."""
    add_gene("writer", WRITER)
    add_gene("thief", USER.format(times=2), "far")
    agent = project.create_agent("a", ["writer", "thief"], composition="Par")
    document = {"key": HOSTILE, "value": b64encode(HOSTILE.encode()).decode(), "category": "CACHE"}
    agent.run(document)
    thief = agent.set_genes(
        ["thief", "writer"], composition={"type": "Par", "branches": ["thief", "writer"], "merge": "first"}
    )
    file = tmp_path / "run.html"
    thief.run({"key": HOSTILE}, report=Report(file))
    return file


def brightness(browser: Browser, name: str) -> int:
    """Return the sum of red, green and blue of a colour of the page's body."""
    return sum(map(int, re.findall(r"\d+", browser.ask(f"getComputedStyle(document.body).{name}"))[:3]))


def boxes(browser: Browser, selector: str) -> list[dict[str, Any]]:
    """Return the places of the elements a selector names."""
    script = f"Array.from(document.querySelectorAll({selector!r}), e => e.getBoundingClientRect().toJSON())"
    found: list[dict[str, Any]] = browser.ask(script)
    return found


def test_a_browser_takes_it_as_it_is_meant(browser: Browser, page: Path) -> None:
    """Standards mode, no element of a guest's, nothing loaded, nothing run, nothing to complain of."""
    browser.open(page)
    assert browser.ask("document.compatMode") == "CSS1Compat"
    assert browser.ask("document.title") == "Run of the agent a"
    assert browser.ask("document.querySelectorAll('script, img, link, iframe, body > :not(main)').length") == 0
    assert browser.ask("performance.getEntriesByType('resource').length") == 0
    assert browser.complaints() == []
    assert "<script>alert(1)</script>" in browser.ask("document.body.innerText")


def test_no_script_could_run(browser: Browser, page: Path) -> None:
    """Should a text get past the escaping, the page's own policy still stops it."""
    text = page.read_text(encoding="utf-8")
    page.write_text(
        text.replace("<main>", "<main><img src='x' onerror='window.ran = 1'><script>window.ran = 1</script>"),
        encoding="utf-8",
    )
    browser.open(page)
    assert browser.ask("window.ran === undefined")
    assert any("Content Security Policy" in complaint for complaint in browser.complaints())


@pytest.mark.parametrize("width", [360, 1200])
def test_it_fits_the_window(browser: Browser, page: Path, width: int) -> None:
    """Nothing sticks out of a narrow or a wide one, and each bar lies on its lane's track."""
    browser.width(width)
    browser.open(page)
    assert browser.ask("document.documentElement.scrollWidth") <= width
    tracks, calls = boxes(browser, ".track"), boxes(browser, ".call")
    assert (len(tracks), len(boxes(browser, ".gene"))) == (2, 2)
    assert len(calls) == len(boxes(browser, ".call.refused")) + 1
    for call in calls:
        assert any(
            track["top"] <= call["top"] <= call["bottom"] <= track["bottom"]
            and track["left"] <= call["left"] + 1
            and call["width"] >= 2
            for track in tracks
        )


def test_it_is_light_or_dark(browser: Browser, page: Path) -> None:
    """As the reader's machine is; text stands out from what is behind it either way."""
    browser.open(page)
    for scheme, dark_back in (("light", False), ("dark", True)):
        browser.scheme(scheme)
        back, text = (brightness(browser, name) for name in ("backgroundColor", "color"))
        assert (back < 150) is dark_back
        assert abs(back - text) > 400
