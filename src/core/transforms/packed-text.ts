import { promisify } from "node:util";
import { deflateRaw, inflateRawSync } from "node:zlib";

/** A smaller text is kept as it is. */
const MIN_BYTES = 16 * 1024;

const deflate = promisify(deflateRaw);

/** Gives a function that returns the text again. Code is a sixth as large when it is compressed, and rarely needed. */
export async function packText(text: Buffer): Promise<() => string> {
  if (text.length < MIN_BYTES) {
    const short = text.toString();
    return () => short;
  }
  const packed = await deflate(text, { level: 1 });
  return () => inflateRawSync(packed).toString();
}

let last: { read: () => string; text: string } | undefined;

/** The same for a text that is a part of many: the last one that was read stays unpacked. */
export async function packSharedText(text: Buffer): Promise<() => string> {
  const read = await packText(text);
  return () => {
    if (last?.read !== read) last = { read, text: read() };
    return last.text;
  };
}
