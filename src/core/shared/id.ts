import { randomBytes } from "node:crypto";

/** Hexadecimal digits. They are generated for many ids at once, since a call per id would dominate its cost. */
let digits = "";
let used = 0;

let lastMs = 0;
/** The first part of the ids of a millisecond: the time, the version, and the upper bits of the counter. */
let start = "";
/** The lower 14 bits of the counter. */
let counter = 0;
const MAX_COUNTER = 0x3fff;
/** The first two of the four digits in which these bits follow the variant, and the last two. */
const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** A new UUIDv7. The ids of one process sort in the order of creation, also within a millisecond. */
export function createId(): string {
  const now = Date.now();
  if (now > lastMs) startAt(now);
  else if (counter === MAX_COUNTER) startAt(lastMs + 1);
  else counter++;
  return `${start}${BYTES[0x80 | (counter >> 8)]}${BYTES[counter & 0xff]}-${randomDigits(12)}`;
}

/** RFC 9562, 6.2: the counter starts at a random value, with room to grow. */
function startAt(ms: number): void {
  const time = ms.toString(16).padStart(12, "0");
  lastMs = ms;
  start = `${time.slice(0, 8)}-${time.slice(8)}-7${randomDigits(3)}-`;
  counter = Number.parseInt(randomDigits(4), 16) & (MAX_COUNTER >> 1);
}

/** The lowest id of a time, in milliseconds since the epoch. */
export function firstIdAt(ms: number): string {
  const time = Math.min(Math.max(0, Math.floor(ms)), MAX_MS)
    .toString(16)
    .padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

const MAX_MS = 2 ** 48 - 1;

const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Whether the text has the form of an id. */
export function isId(text: string): boolean {
  return ID.test(text);
}

/** 32 random hexadecimal digits. */
export function createNonce(): string {
  return randomDigits(32);
}

function randomDigits(count: number): string {
  if (used + count > digits.length) {
    digits = randomBytes(2048).toString("hex");
    used = 0;
  }
  used += count;
  return digits.slice(used - count, used);
}
