// The formatter, in AssemblyScript: re-indents code, and remembers the width its user last asked for.
import { Answer, Category, JsonObject, fail, finish, inputOf, read, reject, writeText } from "./rotifer";
export { alloc } from "./rotifer";

const KEY = "formatter/indent";
const DEFAULT_INDENT = 2;
const TAB = 8;

export function express(at: usize, length: i32): usize {
  const input = inputOf(at, length);
  const code = input.member("code");
  if (!code || !code.isString) return reject("code must be a string");

  let indent: i32;
  let answer: Answer;
  const given = input.member("indent");
  if (given) {
    indent = width(given.raw);
    if (!indent) return reject("indent must be a whole number from 1 to 8");
    answer = writeText(KEY, given.raw, Category.PREFERENCE);
  } else {
    answer = read(KEY, Category.PREFERENCE);
    const entry = answer.entry;
    indent = entry ? width(entry.valueText) : 0;
    if (!indent) indent = DEFAULT_INDENT; // nothing there, or what another gene left is no width
  }
  const error = answer.error;
  if (error) return fail(error);

  const output = new JsonObject();
  output.string("formatted", reindent(code.string, indent));
  output.raw("indent", indent.toString());
  return finish(output.end());
}

/** The width that one digit from 1 to 8 stands for, or 0. */
function width(text: string): i32 {
  const digit = text.length == 1 ? text.charCodeAt(0) - 0x30 : 0;
  return digit >= 1 && digit <= 8 ? digit : 0;
}

function reindent(code: string, indent: i32): string {
  const lines = new Array<string>();
  const columns: i32[] = [0]; // where each level starts
  for (let i = 0; i < code.length; ) {
    let column = 0;
    let unit = code.charCodeAt(i);
    while (unit == 0x20 || unit == 0x09) {
      column = unit == 0x20 ? column + 1 : (column / TAB + 1) * TAB;
      unit = ++i < code.length ? code.charCodeAt(i) : 0x0a;
    }
    const start = i;
    while (i < code.length && !isLineEnd(code.charCodeAt(i))) i++;
    if (i > start) {
      while (columns[columns.length - 1] > column) columns.pop();
      if (columns[columns.length - 1] < column) columns.push(column);
      lines.push(" ".repeat((columns.length - 1) * indent));
    }
    if (i < code.length) i++; // the line end
    lines.push(code.substring(start, i));
  }
  return lines.join("");
}

function isLineEnd(unit: i32): bool {
  return unit == 0x0a || unit == 0x0d;
}
