"""The C extension behind `audit.link`; there is none where the processor has no instructions for SHA-256."""

from collections.abc import Sequence

def link(lines: Sequence[bytes], after: bytes | None, above: bytes) -> tuple[list[bytes], bytes]: ...
