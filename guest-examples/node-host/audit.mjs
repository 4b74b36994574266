// The agent's audit lines, chained by hashes. Rules: abi/README.md, "Audit lines".

import { createHash } from "node:crypto";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");

export class AuditLog {
  /** Every line as text, oldest first. */
  lines = [];
  /** Tests set it: then no line can be written. */
  failing = false;
  #length = 0;
  #head = null;

  /**
   * Write the lines of changes that are about to be saved, all or none.
   * Gives back what to do once they are: `saved()`, or `lost(...)` to take them back.
   */
  announce(changes) {
    let [seq, prev] = [this.#length, this.#head];
    const texts = changes.map((change) => {
      const text = JSON.stringify({ ...change, seq: ++seq, prev });
      prev = sha256(text);
      return text;
    });
    this.#write(texts);
    return {
      saved: () => ([this.#length, this.#head] = [seq, prev]),
      lost: (code, reason) => {
        const aborts = changes.map((change, index) =>
          JSON.stringify({ ...change, action: "memory.abort", code, reason, prev: sha256(texts[index]) }),
        );
        this.#write(aborts);
      },
    };
  }

  /** Write the line of a refusal, which stays one when its line cannot be written. */
  refuse(line, { chained }) {
    try {
      this.#write([JSON.stringify(chained ? { ...line, prev: this.#head } : line)]);
    } catch {
      // There is nothing else to tell it to.
    }
  }

  #write(texts) {
    if (this.failing) throw new Error("the audit log cannot be written");
    this.lines.push(...texts);
  }
}
