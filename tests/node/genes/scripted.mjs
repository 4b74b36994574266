// The scripted guest of abi/vectors in JavaScript: it reads the same script and writes the
// same report, but asks with values instead of bytes.

const FUNCTIONS = ["readMemory", "writeMemory", "queryMemory", "deleteMemory"];
const RESULTS = {
  MEMORY_ACCESS_DENIED: -2,
  MEMORY_QUOTA_EXCEEDED: -8,
  MEMORY_INVALID_INPUT: -10,
  MEMORY_NOT_FOUND: -12,
  MEMORY_STORAGE_ERROR: -13,
};
const CALL = 1;
const GROW = 2;

export function express(script, { memory }) {
  const bytes = Buffer.from(script, "hex");
  const report = [];
  for (let at = 0; bytes[at] === CALL || bytes[at] === GROW; ) {
    if (bytes[at] === GROW) {
      at += 5;
      continue;
    }
    const name = FUNCTIONS[bytes[at + 1]];
    const repeat = bytes.readUInt32LE(at + 2);
    const length = bytes.readUInt32LE(at + 22);
    const request = bytes.toString("utf8", at + 26, at + 26 + length);
    at += 26 + length;
    let outcome;
    for (let time = 0; time < repeat; time++) outcome = made(memory, name, request);
    const [result, window] = outcome;
    const head = Buffer.alloc(9);
    head.writeInt32LE(result);
    head[4] = 1;
    head.writeUInt32LE(window.length, 5);
    report.push(head, window);
  }
  return Buffer.concat(report).toString("hex");
}

function made(memory, name, request) {
  try {
    const response = Buffer.from(JSON.stringify(asked(memory, name, request)));
    return [response.length, response];
  } catch (error) {
    if (!(error.code in RESULTS)) throw error;
    const payload = { __rotifer_error: { code: error.code, message: error.message } };
    return [RESULTS[error.code], Buffer.from(`${JSON.stringify(payload)}\0`)];
  }
}

function asked(memory, name, request) {
  const members = request === "" ? undefined : JSON.parse(request);
  switch (name) {
    case "readMemory":
      return written(memory.readMemory(members.key, members.category));
    case "writeMemory": {
      const value = members.value === undefined ? undefined : new Uint8Array(Buffer.from(members.value, "base64"));
      return written(
        memory.writeMemory(members.key, value, members.category, members.accessPolicy, members.retentionPolicy),
      );
    }
    case "queryMemory":
      return memory.queryMemory(members && "filter" in members ? members.filter : members).map(written);
    default:
      return memory.deleteMemory(members.key) ?? null;
  }
}

function written(entry) {
  return entry && { ...entry, value: Buffer.from(entry.value).toString("base64") };
}
