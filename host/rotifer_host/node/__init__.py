"""Genes in TypeScript or JavaScript: a Node.js process for each, which speaks to the host over pipes.

`runner` runs one, `program` says which Node.js; the other modules serve these two, and
`runtime/` is what runs on the other side of the pipes.
"""
