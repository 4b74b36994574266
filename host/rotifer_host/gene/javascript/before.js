// Runs before a compiled gene: standard output is the gene's output, so its console writes to standard error.
import * as $std from "qjs:std";

globalThis.console = Object.fromEntries(
  ["debug", "error", "info", "log", "trace", "warn"].map((level) => [
    level,
    (...values) => {
      const shown = values.map((value) => {
        if (typeof value === "string") return value;
        if (value instanceof Error) return `${value}\n${value.stack}`;
        try {
          return JSON.stringify(value) ?? String(value);
        } catch {
          return String(value);
        }
      });
      $std.err.puts(`${shown.join(" ")}\n`);
    },
  ]),
);
globalThis.print = globalThis.console.log;
