import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { IS_CHECKOUT, PACKAGE_ROOT } from "../../shared/system/package.ts";
import { type BuildOptions, runEsbuild } from "../esbuild.ts";
import { createSandboxDir, type FindTempDir, FULL_CONFINEMENT, ISOLATED_VM, type SandboxDir } from "./spawn.ts";

/** Shared by all children of a sandbox. */
export interface Prepared {
  dir: SandboxDir;
  /** The code of the realm. */
  realm: string;
  /** The first child, fully confined, if it was started ahead and has not ended. */
  child?: ChildProcessWithoutNullStreams;
}

let ahead: Prepared | undefined;
/** How often the first child was dropped: one that becomes ready after that is not wanted any more. */
let drops = 0;

/** Starts the first child of the next sandbox: that takes as long as loading the rest of the service. */
export async function startFirstChild(): Promise<void> {
  const before = drops;
  try {
    const prepared = ahead ?? (await prepare());
    if (drops > before) return endPrepared(prepared);
    ahead ??= prepared;
    ahead.child ??= ahead.dir.launch(FULL_CONFINEMENT);
  } catch {
    // The sandbox tries again, and says why it fails.
  }
}

/** For one sandbox. */
export async function takeFirstChild(findTempDir?: FindTempDir): Promise<Prepared> {
  const taken = ahead;
  ahead = undefined;
  if (!taken) return prepare(findTempDir);
  const isRunning = taken.child?.exitCode === null && taken.child.signalCode === null;
  return isRunning ? taken : { ...taken, child: undefined };
}

/** Ends the child that was started ahead or is about to be, unless a sandbox has taken it. */
export function dropFirstChild(): void {
  drops++;
  if (ahead) endPrepared(ahead);
  ahead = undefined;
}

export function endPrepared({ child, dir }: Prepared): void {
  child?.kill("SIGKILL");
  dir.remove();
}

async function prepare(findTempDir?: FindTempDir): Promise<Prepared> {
  const { child, realm } = await loadPrograms();
  return { dir: createSandboxDir(child, findTempDir), realm };
}

/** The sandbox's own scripts, each bundled into one file. */
export interface Programs {
  /** Runs in a child process, as CommonJS. */
  child: string;
  /** Runs in an isolate, before the transform. */
  realm: string;
}

/** Where the build puts them, below `dist`. */
export const PROGRAM_FILES = { child: "sandbox/child.cjs", realm: "sandbox/realm.js" };

let programs: Promise<Programs> | undefined;

/** In a checkout they are bundled from source, once per process. A child loads the native module by its path. */
export function loadPrograms(): Promise<Programs> {
  programs ??= (IS_CHECKOUT ? bundlePrograms() : readPrograms()).then(({ child, realm }) => ({
    child: child.replace('require("isolated-vm")', () => `require(${JSON.stringify(ISOLATED_VM)})`),
    realm,
  }));
  return programs;
}

async function readPrograms(): Promise<Programs> {
  const read = (file: string): string => readFileSync(path.join(PACKAGE_ROOT, "dist", file), "utf8");
  return { child: read(PROGRAM_FILES.child), realm: read(PROGRAM_FILES.realm) };
}

/** `--jitless` cannot strip types, and a single file starts faster. */
export async function bundlePrograms(): Promise<Programs> {
  const [child, realm] = await Promise.all([
    bundle("child", { platform: "node", format: "cjs", external: ["isolated-vm"] }),
    bundle("realm", { platform: "neutral", format: "iife" }),
  ]);
  return { child, realm };
}

async function bundle(name: string, options: BuildOptions): Promise<string> {
  const { result, errors } = await runEsbuild({
    ...options,
    entryPoints: [path.join(PACKAGE_ROOT, "src/core/transforms", name, `${name}.ts`)],
    target: "es2024",
    minifySyntax: true,
    minifyWhitespace: true,
    banner: { js: '"use strict";' },
    tsconfigRaw: "{}",
  });
  if (result === undefined) throw new Error(`The sandbox's own ${name} does not build: ${errors[0]?.text}`);
  return result.outputFiles[0]!.text;
}
