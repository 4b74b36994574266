"""`python -m rotifer_host.cli` is the command `rotifer`."""

from __future__ import annotations

import sys

from rotifer_host.cli import main

sys.exit(main())
