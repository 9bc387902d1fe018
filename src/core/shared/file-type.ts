/** The type of a file by its content, whatever its name and its sender say. */
export interface FileType {
  /** A media type. */
  type: string;
  kind: "image" | "text" | "other";
  /** The ending of a name for it. */
  extension: string;
}

const OTHER: FileType = { type: "application/octet-stream", kind: "other", extension: "bin" };
const TEXT: FileType = { type: "text/plain", kind: "text", extension: "txt" };

/** The first bytes as hexadecimal digits. */
const SIGNATURES: [start: RegExp, type: FileType][] = [
  [/^89504e470d0a1a0a/, { type: "image/png", kind: "image", extension: "png" }],
  [/^ffd8ff/, { type: "image/jpeg", kind: "image", extension: "jpg" }],
  [/^474946383[79]61/, { type: "image/gif", kind: "image", extension: "gif" }],
  [/^52494646.{8}57454250/, { type: "image/webp", kind: "image", extension: "webp" }],
  [/^255044462d/, { type: "application/pdf", kind: "other", extension: "pdf" }],
  [/^504b(?:0304|0506)/, { type: "application/zip", kind: "other", extension: "zip" }],
  [/^1f8b/, { type: "application/gzip", kind: "other", extension: "gz" }],
];

export function findFileType(bytes: Uint8Array): FileType {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("hex");
  const known = SIGNATURES.find(([signature]) => signature.test(start));
  if (known) return known[1];
  return bytes.length > 0 && readFileText(bytes) !== undefined ? TEXT : OTHER;
}

const ESCAPE = String.fromCharCode(27);

/** Undefined: it is no text. */
export function readFileText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // White space and the escapes of terminals are control characters of texts too.
    return /(?!\s)\p{Cc}/u.test(text.replaceAll(ESCAPE, "")) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** A picture can be large although its file is small. */
const MAX_PIXELS = 50_000_000;

/** Whether a picture says a size that a program can draw. One that says none is left to its reader. */
export function isDrawable(bytes: Uint8Array, { type }: FileType): boolean {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [width, height] = SIZES[type]?.(data) ?? [0, 0];
  return width * height <= MAX_PIXELS;
}

type Size = [width: number, height: number];

const SIZES: Record<string, (data: Buffer) => Size | undefined> = {
  "image/png": (data) => (data.length >= 24 ? [data.readUInt32BE(16), data.readUInt32BE(20)] : undefined),
  "image/gif": (data) => (data.length >= 10 ? [data.readUInt16LE(6), data.readUInt16LE(8)] : undefined),
  "image/webp": (data) =>
    data.length >= 30 && data.toString("latin1", 12, 16) === "VP8X"
      ? [data.readUIntLE(24, 3) + 1, data.readUIntLE(27, 3) + 1]
      : undefined,
  "image/jpeg": findJpegSize,
};

/** Goes from one segment to the next, up to the frame. */
function findJpegSize(data: Buffer): Size | undefined {
  for (let at = 2; at + 9 < data.length && data[at] === 0xff;) {
    const marker = data[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [data.readUInt16BE(at + 7), data.readUInt16BE(at + 5)];
    at += marker === 0xff ? 1 : 2 + data.readUInt16BE(at + 2);
  }
  return undefined;
}
