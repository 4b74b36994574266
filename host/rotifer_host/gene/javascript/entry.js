// Runs a gene compiled from TypeScript or JavaScript: input from standard input, output to standard output.
import { express } from "./$GENE";

const MEMORY = /'(memory|(read|write|query|delete)Memory)' of undefined/;
const DESTRUCTURED = /undefined or null to object/;

// memory-api.en.md, "Which genes can use memory"
function explained(error) {
  const wanted = MEMORY.test(error?.message) || (express.length > 1 && DESTRUCTURED.test(error?.message));
  if (!(error instanceof TypeError && wanted)) return error;
  return new Error(
    "a gene compiled from TypeScript has no memory: its express() is called with the input only. " +
      `On Node.js it has one: delete gene.ir.wasm (${error.message})`,
  );
}

if (typeof express !== "function") throw new Error("express, as $GENE exports it, is not a function");
let returned;
try {
  returned = await express(JSON.parse($std.in.readAsString()));
} catch (error) {
  throw explained(error);
}
const output = JSON.stringify(returned);
if (output === undefined) throw new Error(`express returned ${typeof returned}, which is not JSON`);
$std.out.puts(output);
$std.out.flush();
