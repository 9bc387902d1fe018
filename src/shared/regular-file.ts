import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";

/**
 * The bytes of a file. Throws if it is not a regular file or over `maxBytes`; the message contains nothing of its content.
 * Opening a pipe would block the process, and a device may never end, so neither is opened.
 */
export function readRegularFile(file: string, maxBytes: number): Buffer {
  requireRegular(statSync(file));
  // It may have been replaced by a pipe since.
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    requireRegular(fstatSync(handle));
    return readStart(handle, maxBytes);
  } finally {
    closeSync(handle);
  }
}

function requireRegular(stats: Stats): void {
  if (!stats.isFile()) throw new Error("it is not a regular file");
}

const CHUNK_BYTES = 64 * 1024;

/** Does not rely on the file's size, which is 0 for files of the kernel. */
function readStart(handle: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const read = readSync(handle, chunk);
    if (read === 0) return Buffer.concat(chunks, length);
    chunks.push(chunk.subarray(0, read));
    length += read;
    if (length > maxBytes) throw new Error(`it is over ${maxBytes} bytes`);
  }
}
