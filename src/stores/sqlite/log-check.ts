import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Log } from "../../core/telemetry/log.ts";
import { integer } from "../../core/journal/columns.ts";
import type { Database } from "./database.ts";

/* https://www.sqlite.org/fileformat2.html#the_write_ahead_log */

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/**
 * Says how much of the write-ahead log of an earlier process is used. SQLite reads it up to the first frame that is damaged or
 * incomplete: a commit behind that one is lost, which only damage or a power cut can cause. Called before the first write.
 */
export function reportLog(database: Database, journal: string, log: Log): void {
  const file = `${journal}-wal`;
  const frames = readFrames(file);
  if (frames.length === 0) return;
  // NOOP counts the frames that SQLite can use, and writes nothing: the disk may be full.
  const used = integer(database.get("PRAGMA wal_checkpoint(NOOP)")?.log);
  const fields = { file, usedFrames: used, frames: frames.length };
  if (frames.slice(used).includes("commit")) {
    log.error("the journal's log is damaged: the commits behind the damage are lost", fields);
  } else log.info("the journal's log was recovered", fields);
}

type Frame = "page" | "commit";

/** Frames of the log's last generation: those of an earlier one have other salts. */
function readFrames(file: string): Frame[] {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return [];
  }
  try {
    const read = (bytes: number, position: number): Buffer => {
      const buffer = Buffer.alloc(bytes);
      readSync(descriptor, buffer, 0, bytes, position);
      return buffer;
    };
    const header = read(HEADER_BYTES, 0);
    // After a power cut the log can be nothing but zeros.
    if (header.readUInt32BE(8) === 0) return [];
    const [frameBytes, salts] = [FRAME_HEADER_BYTES + header.readUInt32BE(8), header.subarray(16, 24)];
    const frames: Frame[] = [];
    const { size } = fstatSync(descriptor);
    for (let at = HEADER_BYTES; at + frameBytes <= size; at += frameBytes) {
      const frame = read(FRAME_HEADER_BYTES, at);
      // A damaged header looks like one of another generation.
      if (frame.subarray(8, 16).equals(salts)) frames.push(frame.readUInt32BE(4) > 0 ? "commit" : "page");
    }
    return frames;
  } finally {
    closeSync(descriptor);
  }
}
