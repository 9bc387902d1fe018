import { randomFillSync } from "node:crypto";
import { v7 } from "uuid";

/** Random bytes are drawn for many ids at once: one draw an id costs more than all else that an id needs. */
const pool = Buffer.alloc(4096);
const BYTES_A_DRAW = 16;
let used = pool.length;

let lastMs = 0;
let sequence = 0;

/** A new UUIDv7. Ids of one process sort in the order they were made, also within a millisecond. */
export function createId(): string {
  const random = drawRandom();
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    // RFC 9562, 6.2: the counter starts at a random place, with room to grow.
    sequence = random.readUInt32LE() >>> 1;
  } else {
    sequence++;
  }
  return v7({ random, msecs: lastMs, seq: sequence });
}

/** 32 hexadecimal digits that nobody can guess. */
export function createNonce(): string {
  return drawRandom().toString("hex");
}

function drawRandom(): Buffer {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += BYTES_A_DRAW;
  return pool.subarray(used - BYTES_A_DRAW, used);
}
