import { closeSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";
import path from "node:path";

/** The file a child is given open, beside its three pipes. */
const PROGRESS_FD = 3;
export const PROGRESS_BYTES = 4;

/**
 * Four bytes in a file without a name that both sides have open: the job a child is at while answers to earlier ones
 * are not sent yet. A child that is stuck can send nothing, and an innocent job must not be blamed for it.
 */
export interface Progress {
  /** To be handed to the child. */
  fd: number;
  /** The job noted last, 0 where none was. Whoever broke out of an isolate could have written it. */
  read(): number;
  close(): void;
}

export function createProgress(folder: string): Progress {
  const name = path.join(folder, "progress");
  const fd = openSync(name, "w+");
  unlinkSync(name);
  ftruncateSync(fd, PROGRESS_BYTES);
  const bytes = Buffer.alloc(PROGRESS_BYTES);
  return {
    fd,
    read() {
      readSync(fd, bytes, 0, PROGRESS_BYTES, 0);
      return bytes.readUInt32LE(0);
    },
    close: () => closeSync(fd),
  };
}

const note = Buffer.alloc(PROGRESS_BYTES);

/** The child's side. */
export function noteProgress(job: number): void {
  note.writeUInt32LE(job, 0);
  writeSync(PROGRESS_FD, note, 0, PROGRESS_BYTES, 0);
}
