"""Genes that say and do what a page must survive, and a reader of pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rotifer_host import Agent, Project

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m</pre></style>&amp;'

# Writes what its input asks for, logs its input, and answers with the entry.
WRITER = """(module
  (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 8)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param $in i32) (param $len i32) (result i32)
    (drop (call $write (local.get $in) (local.get $len) (i32.const 131072) (i32.const 131072)))
    (call $log (i32.const 1) (local.get $in) (local.get $len))
    (i32.const 131072)))"""

# Reads the key its input names, as often as is in it, deletes it, and answers with its input.
USER = """(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "deleteMemory" (func $delete (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "queryMemory" (func $query (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 8)
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "express") (param $in i32) (param $len i32) (result i32) (local $times i32)
    (local.set $times (i32.const {times}))
    (loop $again
      (drop (call $read (local.get $in) (local.get $len) (i32.const 131072) (i32.const 131072)))
      (local.set $times (i32.sub (local.get $times) (i32.const 1)))
      (br_if $again (local.get $times)))
    (drop (call $read (local.get $in) (i32.const -1) (i32.const 131072) (i32.const 131072))) ;; bad pointers
    (drop (call $query (i32.const 0) (i32.const 0) (i32.const 131072) (i32.const 131072)))
    (drop (call $delete (local.get $in) (local.get $len) (i32.const 131072) (i32.const 131072)))
    (local.get $in)))"""

TRAPS = '(module (memory (export "memory") 1) (func (export "express") (param i32 i32) (result i32) unreachable))'


class Page(HTMLParser):
    """A page as a browser would take it apart; refuses one whose elements do not close in order."""

    void = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.classes: list[str] = []
        self.titles: list[str] = []
        self.texts: list[str] = []
        self.style = ""
        self.policy: str | None = None
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element in."""
        self.tags.add(tag)
        given = dict(attrs)
        self.attributes |= set(given)
        self.classes += (given.get("class") or "").split()
        if given.get("title"):
            self.titles.append(given["title"] or "")
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag not in self.void:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element, and no other."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep text and style apart."""
        if self._open and self._open[-1] == "style":
            self.style += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All that can be read on the page."""
        return "".join(self.texts)


AddGene = Callable[..., None]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a project."""
    return Project.init(tmp_path / "project")


@pytest.fixture
def add_gene(project: Project) -> AddGene:
    """Put a compiled gene into the project."""

    def add(name: str, wat: str, domain: str = "text") -> None:
        folder = project.root / "genes" / name
        folder.mkdir()
        phenotype = {"domain": domain, "version": "1.0.0", "inputSchema": {}, "outputSchema": {}}
        (folder / "phenotype.json").write_text(json.dumps(phenotype), encoding="utf-8")
        (folder / "gene.wat").write_text(wat, encoding="utf-8")
        project.compile(name)

    return add


@pytest.fixture
def writer(project: Project, add_gene: AddGene) -> Agent:
    """Give an agent whose gene writes what it is told."""
    add_gene("writer", WRITER)
    return project.create_agent("writer", ["writer"], memory_quota=10_000)
