import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";

/** A file system on an image of a block device. */
export interface BlockDevice {
  folder: string;
  /** Loses all that has not reached the device. No process may use the folder any more. */
  cutPower(): void;
  remove(): void;
}

/** Undefined where mounting is not allowed. */
export function mountImage(parent: string, megabytes: number): BlockDevice | undefined {
  const [folder, image, copy] = ["disk", "disk.img", "copy.img"].map((name) => path.join(parent, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(folder);
  writeFileSync(image, "");
  truncateSync(image, megabytes * 1024 * 1024);
  // Nothing is written to the device but what is synced: the file system's own interval is longer than any campaign's.
  const mount = (): void => run("mount", "-o", "loop,commit=900", image, folder);
  try {
    run("mkfs.ext4", "-q", "-F", image);
    mount();
  } catch {
    return undefined;
  }
  return {
    folder,
    cutPower() {
      // The system may be writing pages back: only a copy that equals the device afterward is of one moment.
      do run("cp", "--sparse=always", image, copy);
      while (!isEqual(image, copy));
      run("umount", folder);
      rmSync(image);
      renameSync(copy, image);
      mount();
    },
    remove: () => run("umount", folder),
  };
}

function isEqual(a: string, b: string): boolean {
  try {
    run("cmp", "--silent", a, b);
    return true;
  } catch {
    return false;
  }
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: "pipe" });
}
