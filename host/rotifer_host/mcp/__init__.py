"""An agent as a server of the Model Context Protocol: for language models, and programs that run them.

The tools know nothing of the protocol; only `server` and `streams` use its SDK,
the extra `mcp`.
"""
