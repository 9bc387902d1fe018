import { type ChildProcess, type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { createFolderInAny } from "../../shared/system/temporary-folder.ts";

const NODE_OPTIONS = [
  // isolated-vm needs it: https://github.com/laverdet/isolated-vm#requirements
  "--no-node-snapshot",
  // No executable memory, no WebAssembly, a smaller address space. Transforms are too short to need the compiler.
  "--jitless",
  // Threads that help with a nursery of 1 MB cost more than they do.
  "--single-threaded-gc",
  // The garbage of a call is small and short-lived, so the smallest nursery is enough for every isolate.
  "--max-semi-space-size=1",
  // For the realm, which uses it once and removes it: see `realm/realm.ts`.
  "--expose-gc",
  "--permission",
  "--allow-addons",
  "--disable-warning=SecurityWarning",
];

/** Creates and names a folder for temporary files that is the service's own. */
export type FindTempDir = () => string;

const IS_ROOT = process.getuid?.() === 0;

/** The folder of the children: their program, and an empty folder to work in. */
export interface SandboxDir {
  entry: string;
  /** `confinement`: the words to put before its command. */
  launch(confinement: string[]): ChildProcessWithoutNullStreams;
  remove(): void;
}

/** All that a child has as its environment: a result does not depend on where the node is. */
const LOCALE = { TZ: "UTC", LC_ALL: "en_US.UTF-8" };

/**
 * Creates the folder, below `findTempDir` if the system has no place for temporary files. A child has no other environment, and can
 * read its program and the native module, nothing else.
 */
export function createSandboxDir(program: string, findTempDir: FindTempDir = tmpdir): SandboxDir {
  const parents = [tmpdir, () => "/tmp", findTempDir];
  const folder = realpathSync(createFolderInAny(parents, { needsOthers: IS_ROOT }));
  const entry = path.join(folder, "child.cjs");
  const work = path.join(folder, "work");
  writeFileSync(entry, program, { mode: 0o644 });
  mkdirSync(work);
  // Whatever user a child has.
  chmodSync(folder, 0o711);
  const readable = [entry, ...nativePackages()].map((name) => `--allow-fs-read=${name}`);
  const command = [process.execPath, ...NODE_OPTIONS, ...readable, entry];
  return {
    entry,
    launch(confinement) {
      const [name = "", ...words] = [...confinement, ...command];
      // In a separate process group, it does not get a Ctrl-C that is meant for the service.
      const child = spawn(name, words, { cwd: work, env: LOCALE, stdio: "pipe", detached: true });
      // Without a listener, an error would end the service. The child's end says the same.
      child.on("error", () => {});
      if (!isPiped(child)) throw new Error("The system refuses more pipes.");
      child.stdin.on("error", () => {});
      return child;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function isPiped(child: ChildProcess): child is ChildProcessWithoutNullStreams {
  return Boolean(child.stdin && child.stdout && child.stderr);
}

/** The path of the native module: a child has no folder in which it could look for it. */
export const ISOLATED_VM = createRequire(import.meta.url).resolve("isolated-vm");

function nativePackages(): string[] {
  const { resolve } = createRequire(ISOLATED_VM);
  const loader = path.dirname(resolve("node-gyp-build"));
  // pnpm: a child finds the loader by a link beside the native module.
  const places = resolve.paths("node-gyp-build") ?? [];
  const links = places.map((folder) => path.join(folder, "node-gyp-build")).filter((link) => existsSync(link));
  // The loader looks for the last one to find out which C library there is.
  return [path.dirname(ISOLATED_VM), loader, ...links.slice(0, 1), "/etc/alpine-release"];
}

/** One of the words of a child that does not run as root. */
export const AS_NOBODY = "--reuid=65534";

const BE_NOBODY = ["setpriv", AS_NOBODY, "--regid=65534", "--clear-groups", "--"];

/** Linux commands that start another one with fewer rights. Each is used if it works after those before it. */
const CONFINEMENT = [
  // A service that runs as root gives its children the user nobody.
  ...(IS_ROOT ? [BE_NOBODY] : []),
  // A network namespace without a network.
  ["unshare", "--user", "--map-current-user", "--net", "--"],
  // Ends the child with its supervisor, even if both are too busy to notice.
  ["setpriv", "--pdeathsig", "KILL", "--"],
  // No program that the child could start gains rights, for example by a set-user-ID bit.
  ["setpriv", "--no-new-privs", "--"],
];

/** A child that becomes ready behind these words shows that the system allows them all, as most do. */
export const FULL_CONFINEMENT = CONFINEMENT.flat();

/**
 * The prefix of a command that changes a child from outside: in a container, root may lack the right to change the process
 * of another user.
 */
export function sameUserPrefix(confinement: string[]): string[] {
  return confinement.includes(AS_NOBODY) ? BE_NOBODY : [];
}

let confinement: Promise<string[]> | undefined;

/**
 * The words to put before a command to confine it, empty if the system offers nothing. Determined once per process. `entry`: the
 * program of the children.
 */
export function findConfinement(entry = ISOLATED_VM): Promise<string[]> {
  confinement ??= chainCommands(entry);
  return confinement;
}

async function chainCommands(entry: string): Promise<string[]> {
  if (await canStart(FULL_CONFINEMENT, entry)) return FULL_CONFINEMENT;
  let chain: string[] = [];
  for (const words of CONFINEMENT) if (await canStart([...chain, ...words], entry)) chain = [...chain, ...words];
  return chain;
}

/** Whether what it starts can read what a child needs. */
async function canStart([command = "", ...words]: string[], entry: string): Promise<boolean> {
  try {
    // Without PATH, as the child will be started.
    const files = ["-x", process.execPath, "-a", "-r", ISOLATED_VM, "-a", "-r", entry];
    await promisify(execFile)(command, [...words, "test", ...files], { env: {} });
    return true;
  } catch {
    return false;
  }
}
