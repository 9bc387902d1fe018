import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

const MOST_BYTES = 65_536;

/**
 * The text of a small file. Throws where it is no regular file, over 64 KiB or no UTF-8; the
 * message never holds any of it.
 */
export function readSecretFile(file: string): string {
  // A named pipe that nobody writes to would otherwise hold up the whole program.
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(handle).isFile()) throw new Error("it is not a regular file");
    return toText(readStart(handle));
  } finally {
    closeSync(handle);
  }
}

function readStart(handle: number): Buffer {
  const bytes = Buffer.alloc(MOST_BYTES + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read) {
    read = readSync(handle, bytes, length, bytes.length - length, null);
  }
  if (length > MOST_BYTES) throw new Error(`it is over ${MOST_BYTES} bytes`);
  return bytes.subarray(0, length);
}

function toText(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("it is not UTF-8 text");
  }
}
