const LF = 0x0a;
const CR = 0x0d;
const LINE_END = Buffer.from("\n");

/** Larger mails are rare, and what they hold is attached to them. */
const MOST_BYTES = 32 * 1024 * 1024;
/** So many lines of a mail are left as they are. */
const FREE_LINES = 20_000;
/** Past them, so many at the beginning of each part: its header, and more. */
const FREE_LINES_OF_A_PART = 30;
/** Past them, so many parts. */
const MOST_PARTS = 1000;

/**
 * The body of a mail as the parser can take it: a line costs it some two kilobytes, whatever stands in it. Of very many lines the
 * later ones are joined to long ones; base64 does not mind, and in a text nobody reads that far.
 */
export function boundBody(body: Buffer): Buffer {
  const bounded = body.subarray(0, MOST_BYTES);
  const free = endOfLines(bounded, FREE_LINES);
  if (free === bounded.length) return bounded;
  const pieces = toParts(bounded.subarray(free)).flatMap(joinLines);
  return Buffer.concat([bounded.subarray(0, free), ...pieces]);
}

/** Stretches that each begin with what may be a boundary, the first one aside; what comes after the last one is left out. */
function toParts(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from < bytes.length && parts.length < MOST_PARTS;) {
    const next = bytes.indexOf("\n--", from);
    const end = next < 0 ? bytes.length : next + 1;
    parts.push(bytes.subarray(from, end));
    from = end;
  }
  return parts;
}

function joinLines(part: Buffer): Buffer[] {
  const free = endOfLines(part, FREE_LINES_OF_A_PART);
  if (free === part.length) return [part];
  return [part.subarray(0, free), withoutBreaks(part.subarray(free)), LINE_END];
}

function withoutBreaks(bytes: Buffer): Buffer {
  const joined = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (const byte of bytes) if (byte !== LF && byte !== CR) joined[length++] = byte;
  return joined.subarray(0, length);
}

/** Where so many lines end. */
function endOfLines(bytes: Buffer, count: number): number {
  let end = 0;
  for (let line = 0; line < count && end < bytes.length; line++) {
    const next = bytes.indexOf(LF, end);
    end = next < 0 ? bytes.length : next + 1;
  }
  return end;
}
