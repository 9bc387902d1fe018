import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  spawn,
  type StdioOptions,
} from "node:child_process";
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { ISOLATED_VM } from "./programs.ts";
import { createProgress, type Progress } from "./progress.ts";
import { createTemporaryFolder } from "./temporary-folder.ts";

/** Where children live: their program, and an empty folder to work in. Theirs alone, and gone at the end. */
export interface Quarters {
  launch(): { process: ChildProcessWithoutNullStreams; progress: Progress };
  remove(): void;
}

const NODE_OPTIONS = [
  // isolated-vm needs it: https://github.com/laverdet/isolated-vm#requirements
  "--no-node-snapshot",
  // No executable memory, no WebAssembly, a smaller address space; transforms are too short to miss the compiler.
  "--jitless",
  // What a call leaves behind is small and short-lived: every isolate can do with the smallest nursery.
  "--max-semi-space-size=1",
  // For the realm, which uses it once and takes it away: see `realm/collector.ts`.
  "--expose-gc",
  "--permission",
  "--allow-addons",
  "--disable-warning=SecurityWarning",
];

/**
 * Makes the folders. A child started there has no environment, and may read its program and the native module, no more.
 * `confinement` are the words that go before its command.
 */
export function createQuarters(program: string, confinement: string[]): Quarters {
  const folder = realpathSync(createTemporaryFolder());
  const entry = path.join(folder, "child.cjs");
  const work = path.join(folder, "work");
  writeFileSync(entry, program);
  mkdirSync(work);
  const readable = [entry, ...nativePackages()].map((name) => `--allow-fs-read=${name}`);
  const command = [...confinement, process.execPath, ...NODE_OPTIONS, ...readable, entry];
  return {
    launch() {
      const progress = createProgress(folder);
      const stdio: StdioOptions = ["pipe", "pipe", "pipe", progress.fd];
      const child = spawn(command[0]!, command.slice(1), { cwd: work, env: {}, stdio });
      if (!isPiped(child)) throw new Error("The system gives no more pipes.");
      return { process: child, progress };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function isPiped(child: ChildProcess): child is ChildProcessWithoutNullStreams {
  return child.stdin !== null && child.stdout !== null && child.stderr !== null;
}

function nativePackages(): string[] {
  const loader = createRequire(ISOLATED_VM).resolve("node-gyp-build");
  // The loader looks at the last one to tell which C library there is.
  return [path.dirname(ISOLATED_VM), path.dirname(loader), "/etc/alpine-release"];
}
