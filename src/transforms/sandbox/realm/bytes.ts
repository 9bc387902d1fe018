/** Bytes cross as text, one character of U+0000 to U+00FF a byte. */
export function toBinary(source: unknown): string {
  const bytes = toBytes(source);
  let text = "";
  // As many at a time as a call may have arguments without exhausting the stack.
  for (let start = 0; start < bytes.length; start += 8192) {
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  }
  return text;
}

export function fromBinary(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}

function toBytes(source: unknown): Uint8Array {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  throw new TypeError("Expected an ArrayBuffer, a typed array or a DataView.");
}
