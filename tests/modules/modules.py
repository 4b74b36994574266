"""Host modules as a distribution would have them, as Python text."""

HEAD = """
from rotifer_host.errors import HostCallError, InvalidInputError, LockTimeoutError
from rotifer_host.modules import HostModule
"""

NOTES = (
    HEAD
    + """
class Full(HostCallError):
    result = -101
    code = "NOTES_FULL"

def put(call, request):
    def change(old):
        call.admit(4)
        return request
    call.change_document("put", "note", change)
    return b"true"

def get(call, request):
    return call.document("note") or b"null"

def remove(call, request):
    call.admit(4)
    call.change_document("remove", "note", lambda old: None)
    return b"null"

def about(call, request):
    import json
    return json.dumps({
        "agent": call.granted.agent, "id": call.granted.agent_id, "gene": call.caller.gene_id,
        "domain": call.caller.domain, "settings": dict(call.settings), "project": call.granted.project.name,
        "time": call.now_ms() > 0, "left": call.granted.patience.remaining_s() > 0,
    }).encode()

def note(call, request):
    call.admit(4)
    with call.noted("sent", "outside", len(request)):
        pass
    return b"true"

def full(call, request):
    raise Full("no room for notes")

def refuse(call, request):
    raise InvalidInputError("not like this", code="NOTES_RULE")

def late(call, request):
    raise LockTimeoutError("somebody else has it")

def check(settings):
    if set(settings) - {"size"}:
        raise ValueError("size is all there is")

MODULE = HostModule(
    "notes",
    {"put": put, "get": get, "remove": remove, "about": about, "note": note, "full": full, "refuse": refuse,
     "late": late},
    errors=(Full,),
    check_settings=check,
)
"""
)


def buggy(body: str) -> str:
    """Return a module `bad` with one function, `f`, of this body."""
    return f"""{HEAD}
class Foreign(HostCallError):
    result = -7
    code = "X"

def f(call, request):
    {body}

MODULE = HostModule("bad", {{"f": f}})
"""
