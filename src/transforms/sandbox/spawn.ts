import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  execFile,
  spawn,
  type StdioOptions,
} from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { type BuildOptions, runEsbuild } from "../esbuild.ts";
import { createProgress, type Progress } from "./protocol.ts";

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

const run = promisify(execFile);

/** Commands of Linux that start another one with less; each is used where it works without more rights than we have. */
const STEPS = [
  // No network: a namespace of its own, in which there is none.
  ["unshare", "--user", "--map-current-user", "--net", "--"],
  // The child ends with its supervisor, also where both are too busy to tell each other.
  ["setpriv", "--pdeathsig", "KILL", "--"],
];

let found: Promise<string[]> | undefined;

/** The words to put before a command so that it runs confined; none where the system offers nothing. Found once a process. */
export function findConfinement(): Promise<string[]> {
  found ??= Promise.all(STEPS.map(tryStep)).then((steps) => steps.flat());
  return found;
}

async function tryStep(step: string[]): Promise<string[]> {
  const [command, ...rest] = [...step, "true"];
  try {
    // With no PATH of ours, as the child will be started.
    await run(command, rest, { env: {} });
    return step;
  } catch {
    return [];
  }
}

const NAME = /^hookline-(\d+)-(\d+)-/;

/** Makes a folder of this process's own, and clears away those of processes that were killed before they could. */
export function createTemporaryFolder(parent = tmpdir()): string {
  const space = readProcessSpace();
  for (const name of readdirSync(parent)) {
    const [, itsSpace, pid] = NAME.exec(name) ?? [];
    if (itsSpace === space && !isAlive(Number(pid))) clear(path.join(parent, name));
  }
  return mkdtempSync(path.join(parent, `hookline-${space}-${process.pid}-`));
}

/** Containers may share a folder, but not their numbers of processes: which numbering ours is; 0 where there is but one. */
function readProcessSpace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Someone else's may not be signalled, but is there.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function clear(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // Another user's.
  }
}

/** The scripts that stand around a transform, each in one piece. */
export interface Programs {
  /** Runs in a child process, as CommonJS. */
  child: string;
  /** Runs in an isolate, before the transform. */
  realm: string;
}

/** Where the native module lies: a child has no folder from which it would find it. */
export const ISOLATED_VM = createRequire(import.meta.url).resolve("isolated-vm");

let bundled: Promise<Programs> | undefined;

/** Bundles them from the sources beside this file, once a process: `--jitless` cannot strip types, and one file starts faster. */
export function loadPrograms(): Promise<Programs> {
  bundled ??= bundlePrograms();
  return bundled;
}

async function bundlePrograms(): Promise<Programs> {
  const [child, realm] = await Promise.all([
    bundle("../child/main", {
      platform: "node",
      format: "cjs",
      alias: { "isolated-vm": ISOLATED_VM },
      external: [ISOLATED_VM],
    }),
    bundle("../realm/main", { platform: "neutral", format: "iife" }),
  ]);
  return { child, realm };
}

async function bundle(name: string, options: BuildOptions): Promise<string> {
  const extension = path.extname(import.meta.filename);
  const { result, errors } = await runEsbuild({
    ...options,
    entryPoints: [path.join(import.meta.dirname, name + extension)],
    target: "es2024",
    minifySyntax: true,
    minifyWhitespace: true,
    banner: { js: '"use strict";' },
    tsconfigRaw: "{}",
  });
  if (result === undefined) throw new Error(`The sandbox's own ${name} does not build: ${errors[0]?.text}`);
  return result.outputFiles[0]!.text;
}
