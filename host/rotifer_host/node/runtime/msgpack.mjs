// The part of MessagePack that the host and a gene's process say to each other: null, texts,
// bytes, and arrays of these. Everything else is refused.

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const NIL = 0xc0;
const BIN = [0xc4, 0xc5, 0xc6];
const STR = [0xd9, 0xda, 0xdb];
const ARRAY = [null, 0xdc, 0xdd];

/** Returns the MessagePack of null, a string, a Uint8Array or an array of these; throws a TypeError. */
export function encode(value) {
  const parts = [];
  put(parts, value);
  return Buffer.concat(parts);
}

/** Returns what one MessagePack object holds; throws a TypeError or a RangeError. */
export function decode(data) {
  const reader = { bytes: Buffer.from(data.buffer, data.byteOffset, data.byteLength), at: 0 };
  const value = take(reader);
  if (reader.at !== data.byteLength) throw new RangeError("bytes after the object");
  return value;
}

function put(parts, value) {
  if (value === null) {
    parts.push(Buffer.of(NIL));
  } else if (typeof value === "string") {
    const text = Buffer.from(value);
    parts.push(text.length < 32 ? Buffer.of(0xa0 | text.length) : head(STR, text.length), text);
  } else if (value instanceof Uint8Array) {
    parts.push(head(BIN, value.byteLength), value);
  } else if (Array.isArray(value)) {
    parts.push(value.length < 16 ? Buffer.of(0x90 | value.length) : head(ARRAY, value.length));
    for (const member of value) put(parts, member);
  } else {
    throw new TypeError(`no MessagePack for ${typeof value}`);
  }
}

function head([one, two, four], length) {
  if (one !== null && length < 0x100) return Buffer.of(one, length);
  if (length < 0x10000) return Buffer.of(two, length >> 8, length & 0xff);
  const bytes = Buffer.alloc(5, four);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

function take(reader) {
  const type = number(reader, 1);
  if (type === NIL) return null;
  if (type >= 0xa0 && type <= 0xbf) return text(reader, type & 0x1f);
  if (type >= 0x90 && type <= 0x9f) return array(reader, type & 0x0f);
  for (const [kind, read] of [[BIN, slice], [STR, text], [ARRAY, array]]) {
    const width = kind.indexOf(type);
    if (width >= 0) return read(reader, number(reader, 1 << width));
  }
  throw new TypeError(`unexpected type 0x${type.toString(16)}`);
}

function number(reader, width) {
  return slice(reader, width).readUIntBE(0, width);
}

function text(reader, length) {
  return utf8.decode(slice(reader, length));
}

function slice(reader, length) {
  const end = reader.at + length;
  if (end > reader.bytes.length) throw new RangeError("cut off");
  const found = reader.bytes.subarray(reader.at, end);
  reader.at = end;
  return found;
}

function array(reader, length) {
  if (length > reader.bytes.length - reader.at) throw new RangeError("cut off");
  return Array.from({ length }, () => take(reader));
}
