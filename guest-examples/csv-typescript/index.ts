import { CsvError, parse } from "./csv";

interface Input {
  text: string;
  separator?: string;
}

type Output = { rows: Record<string, string>[] } | { __rotifer_error: { code: string; message: string } };

/** Only the input: a gene compiled from TypeScript has no memory. */
export function express(input: Input): Output {
  const separator = input?.separator ?? ",";
  if (typeof input?.text !== "string") return reject("text must be a string");
  if (typeof separator !== "string" || !/^[^"\r\n]$/u.test(separator) || separator.length !== 1) {
    return reject("separator must be one character, and no quote or line end");
  }
  try {
    const [names, ...rows] = parse(input.text, separator);
    return { rows: rows.map((row, number) => named(names, row, number + 2)) };
  } catch (error) {
    if (error instanceof CsvError) return reject(error.message);
    throw error;
  }
}

function named(names: string[], row: string[], number: number): Record<string, string> {
  if (row.length !== names.length) {
    throw new CsvError(`row ${number} has ${row.length} fields, the first has ${names.length}`);
  }
  return Object.fromEntries(names.map((name, column) => [name, row[column]]));
}

const reject = (message: string): Output => ({ __rotifer_error: { code: "INVALID_INPUT", message } });
