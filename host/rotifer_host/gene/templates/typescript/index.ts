import type { GeneMemoryAccess } from "@rotifer/playground/memory";

const KEY = "formatter/indent";
const DEFAULT_INDENT = 2;
const TAB = 8;

type Input = { code: string; indent?: number };
type Output = { formatted: string; indent: number };
type Rejection = { __rotifer_error: { code: string; message: string } };

export function express(input: Input, ctx: { memory: GeneMemoryAccess }): Output | Rejection {
  // nobody has checked the input by inputSchema
  if (typeof input?.code !== "string") return reject("code must be a string");
  let indent = input.indent;

  if (indent === undefined) {
    const saved = ctx.memory.readMemory(KEY, "PREFERENCE");
    indent = width(saved ? new TextDecoder().decode(saved.value) : "") ?? DEFAULT_INDENT;
  } else {
    if (width(JSON.stringify(indent)) === undefined) return reject("indent must be a whole number from 1 to 8");
    ctx.memory.writeMemory(KEY, new TextEncoder().encode(String(indent)), "PREFERENCE");
  }

  return { formatted: reindent(input.code, indent), indent };
}

function reject(message: string): Rejection {
  return { __rotifer_error: { code: "INVALID_INPUT", message } };
}

/** The width that one digit from 1 to 8 stands for; any gene of the domain may have written something else. */
function width(text: string): number | undefined {
  return /^[1-8]$/.test(text) ? Number(text) : undefined;
}

function reindent(code: string, indent: number): string {
  const columns = [0]; // where each level starts
  return code
    .split(/(?<=[\r\n])/)
    .map((line) => {
      const text = line.replace(/^[ \t]+/, "");
      if (/^[\r\n]?$/.test(text)) return text;
      let column = 0;
      for (const blank of line.slice(0, line.length - text.length)) {
        column = blank === " " ? column + 1 : (Math.floor(column / TAB) + 1) * TAB;
      }
      while (columns[columns.length - 1] > column) columns.pop();
      if (columns[columns.length - 1] < column) columns.push(column);
      return " ".repeat(indent * (columns.length - 1)) + text;
    })
    .join("");
}
