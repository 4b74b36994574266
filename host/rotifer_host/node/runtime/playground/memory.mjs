// What `@rotifer/playground/memory` means to a running gene; memory.d.ts has its types.

/** A memory call that failed: `code` is one of the codes of the Memory API. */
export class MemoryError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "MemoryError";
    this.code = code;
  }
}
