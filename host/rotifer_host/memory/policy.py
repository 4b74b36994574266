"""Who may read, write and share an entry.

memory-api.en.md, "Access scopes". Refusals name the rule and never the entry's
owner or domain: a gene that may not see an entry learns nothing about it.
"""

from __future__ import annotations

from rotifer_host.errors import AccessDeniedError
from rotifer_host.memory.entry import DEFAULT_ACCESS, AccessPolicy, Caller, DataPolicy, Record, Scope

__all__ = ["access_for_write", "check_read", "check_write", "may"]


def may(caller: Caller, scope: Scope, record: Record) -> bool:
    """Tell whether a scope of `record` lets the caller in."""
    if scope == "SAME_DOMAIN":
        return caller.domain == record.domain
    if scope == "CREATOR_GENE_ONLY":
        return caller.gene_id == record.created_by
    return scope == "ALL_GENES"  # DEPLOYER_CONFIGURED: the data policy has no setting for it yet


def check_read(caller: Caller, record: Record) -> None:
    """Raise `AccessDeniedError` unless the caller may read the entry."""
    if not may(caller, record.access.readScope, record):
        message = f"the entry's readScope {record.access.readScope} does not let this gene read it"
        raise AccessDeniedError(message)


def check_write(caller: Caller, record: Record) -> None:
    """Raise `AccessDeniedError` unless the caller may replace or delete the entry."""
    if not may(caller, record.access.writeScope, record):
        message = f"the entry's writeScope {record.access.writeScope} does not let this gene change it"
        raise AccessDeniedError(message)


def access_for_write(
    given: AccessPolicy | None, old: Record | None, caller: Caller, policy: DataPolicy
) -> AccessPolicy:
    """Return the access policy an entry has after a write, or raise `AccessDeniedError`.

    Passing the stored policy is the same as leaving it out, so neither is measured
    against the data policy again; a new or changed one is.
    """
    if given is None:
        return DEFAULT_ACCESS if old is None else old.access
    if old is not None and given == old.access:
        return given
    if old is not None and caller.gene_id != old.created_by:
        message = "only the gene that created an entry may change its accessPolicy"
        raise AccessDeniedError(message)
    if "DEPLOYER_CONFIGURED" in (given.readScope, given.writeScope):
        message = "the agent's data policy has no setting for the scope DEPLOYER_CONFIGURED"
        raise AccessDeniedError(message)
    if given.sharePolicy != "PRIVATE" and not policy.anonymizationSupported:
        message = f"the agent's data policy does not support anonymization, which {given.sharePolicy} needs"
        raise AccessDeniedError(message)
    return given
