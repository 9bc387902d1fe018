import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { ISOLATED_VM } from "./programs.ts";

/** Where children live: their program, and an empty folder to work in. Theirs alone, and gone at the end. */
export interface Quarters {
  launch(): ChildProcessWithoutNullStreams;
  remove(): void;
}

const NODE_OPTIONS = [
  // isolated-vm needs it: https://github.com/laverdet/isolated-vm#requirements
  "--no-node-snapshot",
  // No executable memory, no WebAssembly, a smaller address space; transforms are too short to miss the compiler.
  "--jitless",
  // What a call leaves behind is small and short-lived: every isolate can do with the smallest nursery.
  "--max-semi-space-size=1",
  "--permission",
  "--allow-addons",
  "--disable-warning=SecurityWarning",
];

/**
 * Makes the folders. A child started there has no environment, and may read its program and the native module, no more.
 * `confinement` are the words that go before its command.
 */
export function createQuarters(program: string, confinement: string[]): Quarters {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "hookline-")));
  const entry = path.join(folder, "child.cjs");
  const work = path.join(folder, "work");
  writeFileSync(entry, program);
  mkdirSync(work);
  const readable = [entry, ...nativePackages()].map((name) => `--allow-fs-read=${name}`);
  const command = [...confinement, process.execPath, ...NODE_OPTIONS, ...readable, entry];
  return {
    launch: () => spawn(command[0]!, command.slice(1), { cwd: work, env: {}, stdio: "pipe" }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function nativePackages(): string[] {
  const loader = createRequire(ISOLATED_VM).resolve("node-gyp-build");
  // The loader looks at the last one to tell which C library there is.
  return [path.dirname(ISOLATED_VM), path.dirname(loader), "/etc/alpine-release"];
}
