// What a module is, read from its bytes: Node's WebAssembly tells names, but not signatures.

export const I32 = 0x7f;

/** Types of the functions a module exports, and which of them it defines itself. */
export function exportedFunctions(bytes) {
  const reader = new Reader(bytes, 8);
  const types = [];
  const functions = []; // {type, imported}
  const exported = new Map();
  while (!reader.atEnd) {
    const section = reader.byte();
    const end = reader.number() + reader.at;
    if (section === 1) reader.vector(() => types.push(functionType(reader)));
    else if (section === 2) reader.vector(() => readImport(reader, functions));
    else if (section === 3) reader.vector(() => functions.push({ type: reader.number(), imported: false }));
    else if (section === 7) reader.vector(() => readExport(reader, exported));
    reader.at = end;
  }
  for (const [name, index] of exported) {
    exported.set(name, { ...types[functions[index].type], imported: functions[index].imported });
  }
  return exported;
}

export const hasType = (found, params, results) =>
  found !== undefined && String(found.params) === String(params) && String(found.results) === String(results);

function functionType(reader) {
  reader.byte(); // 0x60; a group of recursive types is no function type, and nothing here uses one
  return { params: reader.vector(() => reader.byte()), results: reader.vector(() => reader.byte()) };
}

function readImport(reader, functions) {
  reader.name();
  reader.name();
  const kind = reader.byte();
  if (kind === 0) functions.push({ type: reader.number(), imported: true });
  else if (kind === 1) (reader.byte(), reader.limits());
  else if (kind === 2) reader.limits();
  else if (kind === 3) (reader.byte(), reader.byte());
  else (reader.byte(), reader.number());
}

function readExport(reader, exported) {
  const name = reader.name();
  const kind = reader.byte();
  const index = reader.number();
  if (kind === 0) exported.set(name, index);
}

class Reader {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  get atEnd() {
    return this.at >= this.bytes.length;
  }

  byte() {
    return this.bytes[this.at++];
  }

  /** An unsigned number in LEB128. */
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  vector(read) {
    return Array.from({ length: this.number() }, read);
  }

  name() {
    const length = this.number();
    this.at += length;
    return Buffer.from(this.bytes.subarray(this.at - length, this.at)).toString();
  }

  limits() {
    const flags = this.byte();
    this.number();
    if (flags & 1) this.number();
  }
}
