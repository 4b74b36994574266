// Takes away what reaches beyond this process, or lifts its limits, though Node.js's
// permission model lets it pass.

import { createRequire, syncBuiltinESMExports } from "node:module";

const open = {
  os: ["setPriority"],
  process: ["kill", "_kill", "_debugProcess"],
  sqlite: ["DatabaseSync", "backup"],
  v8: ["setFlagsFromString"],
};
const require = createRequire(import.meta.url);

for (const [name, members] of Object.entries(open)) {
  let builtin;
  try {
    builtin = require(`node:${name}`);
  } catch {
    continue; // not in this version
  }
  for (const member of members) delete builtin[member];
}
syncBuiltinESMExports();
