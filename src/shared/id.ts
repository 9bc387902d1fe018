import { randomFillSync } from "node:crypto";
import { v7 } from "uuid";

/** Random bytes are generated for many ids at once, since a call per id would dominate its cost. */
const pool = Buffer.alloc(4096);
const BYTES_PER_ID = 16;
let used = pool.length;

let lastMs = 0;
let sequence = 0;

/** A new UUIDv7. The ids of one process sort in the order of creation, also within a millisecond. */
export function createId(): string {
  const random = randomBytes();
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    // RFC 9562, 6.2: the counter starts at a random value, with room to grow.
    sequence = random.readUInt32LE() >>> 1;
  } else {
    sequence++;
  }
  return v7({ random, msecs: lastMs, seq: sequence });
}

/** 32 random hexadecimal digits. */
export function createNonce(): string {
  return randomBytes().toString("hex");
}

function randomBytes(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += BYTES_PER_ID;
  return pool.subarray(used - BYTES_PER_ID, used);
}
