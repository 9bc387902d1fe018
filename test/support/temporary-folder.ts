import { chmodSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { createTemporaryFolder } from "../../src/core/shared/system/temporary-folder.ts";

const MEMORY = "/dev/shm";
const NEEDED_BYTES = 2 * 1024 ** 3;

/**
 * For vitest's `globalSetup`: all temporary files of a run are in one folder, which is removed at the end; in memory where
 * Linux has room, since most of a test's time is the disk's time for its commits.
 */
export default function setup(): () => void {
  const folder = createTemporaryFolder(hasRoom() ? MEMORY : tmpdir());
  // The mode of /tmp: some programs run as other users.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > NEEDED_BYTES;
  } catch {
    return false;
  }
}
