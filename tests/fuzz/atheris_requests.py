"""Coverage-guided fuzzing of the decoders that meet guests' bytes: `make fuzz`, for as long as you like.

    python tests/fuzz/atheris_requests.py [CORPUS] [-max_total_time=SECONDS] [-runs=N]

The first byte chooses the decoder. A finding is written to a file `crash-…`; give its name to repeat it.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["rotifer_host"]):
    from rotifer_host.errors import DocumentError, InvalidInputError
    from rotifer_host.memory import decode_delete, decode_query, decode_read, decode_write
    from rotifer_host.sandbox.documents import decode_document, encode_document

REQUESTS = (decode_read, decode_write, decode_query, decode_delete)


def one(data: bytes) -> None:
    """Decode: a value or one kind of error, and a document that was taken is written and taken again."""
    if not data:
        return
    which, data = data[0] % (len(REQUESTS) + 1), data[1:]
    if which < len(REQUESTS):
        try:
            REQUESTS[which](data)
        except InvalidInputError as refusal:
            if len(refusal.message) > 500:
                raise RuntimeError("a message that a guest can make as long as it likes") from refusal
        return
    try:
        text = encode_document(decode_document(data))
    except DocumentError:
        return
    if encode_document(decode_document(text)) != text:
        raise RuntimeError("a document that does not come back")


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
