"""Memory in plain Markdown files that people read and edit, too.

markdown-memory.zh.md. The command line, Python and the host module
`rotifer.ext.markdown` (`module`) use the same `MarkdownMemory`.
"""

from rotifer_host.markdown_memory.announcing import announced_by_deployer
from rotifer_host.markdown_memory.memory import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    MEMORY_FOLDER,
    Change,
    Found,
    Kind,
    MarkdownMemory,
    Target,
    Updated,
    Written,
)

__all__ = [
    "DEFAULT_LIMIT",
    "MAX_LIMIT",
    "MEMORY_FOLDER",
    "Change",
    "Found",
    "Kind",
    "MarkdownMemory",
    "Target",
    "Updated",
    "Written",
    "announced_by_deployer",
]
