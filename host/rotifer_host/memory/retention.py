"""How long an entry is kept.

memory-api.en.md, "How long entries are kept" and "Access scopes".
"""

from __future__ import annotations

import msgspec

from rotifer_host.errors import AccessDeniedError
from rotifer_host.memory.entry import Caller, DataPolicy, Record, RetentionPolicy

__all__ = ["is_expired", "retention_for_write"]


def is_expired(record: Record, now_s: int, policy: DataPolicy) -> bool:
    """Tell whether the entry is gone at second `now_s`, removed already or not."""
    second = record.expires_at(policy)
    return second is not None and second <= now_s


def retention_for_write(
    given: RetentionPolicy | msgspec.UnsetType | None, old: Record | None, caller: Caller, policy: DataPolicy
) -> RetentionPolicy | None:
    """Return the retention policy an entry has after a write, or raise `AccessDeniedError`.

    `UNSET` leaves it as it is, None follows the data policy. Passing the stored policy
    is the same as leaving it out.
    """
    if isinstance(given, msgspec.UnsetType):
        return None if old is None else old.retention
    if old is not None and given == old.retention:
        return given
    if old is not None and caller.gene_id != old.created_by:
        message = "only the gene that created an entry may change its retentionPolicy"
        raise AccessDeniedError(message)
    longest = policy.maxRetentionDays
    if given is not None and longest is not None:
        days = given.maxRetentionDays
        if days is None or days > longest:
            asked = "for ever" if days is None else f"{days} days"
            message = f"the agent's data policy keeps entries at most {longest} days, not {asked}"
            raise AccessDeniedError(message)
    return given
