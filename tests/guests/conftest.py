"""Where the modules of the example genes come from."""

from __future__ import annotations

import pytest
from tests.guests.modules import ORIGINS, Guests


@pytest.fixture(params=ORIGINS)
def guests(request: pytest.FixtureRequest) -> Guests:
    """Return the example genes as they are committed, and as `make guests` built them here when that differs."""
    return Guests(request.param)
