"""The conformance kit: does this guest keep the ABI, does that host?

`report` is what both answer with. `gene` tests guests. `vectors` holds what is asked
of a host, `protocol` speaks with one, `host` asks it everything.
"""
