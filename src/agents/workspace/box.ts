import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { messageOf } from "../../core/errors.ts";
import { toText } from "../../core/shared/json.ts";
import { IS_CHECKOUT, PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import { orElse, statIfAny } from "../../core/shared/system/files.ts";
import { createTemporaryFolder } from "../../core/shared/system/temporary-folder.ts";

/** Folders as the program in the box sees them. */
export const BOX = { work: "/work", home: "/home/agent", tmp: "/tmp", files: "/files" } as const;

/** The port of the relay in the box. */
const RELAY_PORT = 8137;
export const RELAY_URL = `http://127.0.0.1:${RELAY_PORT}`;

/** The build writes the second from the first. */
const INIT = path.join(
  PACKAGE_ROOT,
  IS_CHECKOUT ? "src" : "dist",
  `agents/workspace/box-init.${IS_CHECKOUT ? "ts" : "js"}`,
);
/** The folder with what the service gives the program, in the box. */
export const RUN_IN_BOX = "/run/hookline";
const INIT_IN_BOX = `${RUN_IN_BOX}/init.${IS_CHECKOUT ? "mts" : "mjs"}`;
const RELAY_IN_BOX = `${RUN_IN_BOX}/relay`;

const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/** Files of /etc that programs and libraries need, and that hold no secret. */
const ETC = [
  "alternatives",
  "ca-certificates",
  "crypto-policies",
  "debian_version",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "mime.types",
  "os-release",
  "pki/ca-trust/extracted",
  "pki/tls/certs",
  "protocols",
  "services",
  "ssl/certs",
  "ssl/cert.pem",
  "ssl/openssl.cnf",
].map((name) => `/etc/${name}`);

/** Files of /etc that the box has instead of the machine's. */
const OWN_ETC: Record<string, string> = {
  passwd: "agent:x:1000:1000:agent:/home/agent:/bin/sh\n",
  group: "agent:x:1000:\n",
  hosts: "127.0.0.1 localhost box\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
};

/** One switch a line: the tests leave out each, and find out what becomes possible. */
export const CONFINEMENT = [
  ["--unshare-user"],
  // No user namespace in this one, in which a program would have all capabilities.
  ["--disable-userns"],
  ["--unshare-pid"],
  ["--unshare-ipc"],
  ["--unshare-uts"],
  ["--unshare-net"],
  ["--unshare-cgroup-try"],
  ["--uid", "1000"],
  ["--gid", "1000"],
  ["--hostname", "box"],
  ["--cap-drop", "ALL"],
  ["--die-with-parent"],
];

export interface Box {
  /** Folders of the service for this turn, absolute. */
  folders: { work: string; home: string; tmp: string; files: string; own: string };
  /** Whether `/work` is a folder of the operator's, and read-only. */
  isWorkReadOnly: boolean;
  /** Further files and folders that can be read, by their path in the box. */
  readable: ReadonlyMap<string, string>;
  /** The program and its arguments, with paths as they are in the box. */
  command: readonly string[];
  /** The socket of the relay. */
  relay?: string;
  /** Settings of the agent, by path below its home; only with a relay. */
  homeFiles?: Record<string, string>;
}

/** The command that runs a program in a box. Makes what the mounts need in the turn's own folders. */
export function toBoxCommand(box: Box, bwrap: string): string[] {
  const { folders, isWorkReadOnly, command, relay, homeFiles = {} } = box;
  const readable = [...box.readable].filter(([, file]) => !isOfSystem(file) && existsSync(file));
  for (const [to] of readable) if (isInside(to, BOX.home)) clearWay(folders.home, path.relative(BOX.home, to));
  const mounts = [
    ...writeOwnEtc(folders.own).map(([from, to]) => ["--ro-bind", from, to]),
    ...(isOfSystem(NODE) ? [] : [["--ro-bind", NODE, NODE_IN_BOX]]),
    ["--dev", "/dev"],
    // Shared memory is room on the disk, which is watched.
    ["--bind", folders.tmp, "/dev/shm"],
    [isWorkReadOnly ? "--ro-bind" : "--bind", folders.work, BOX.work],
    ["--bind", folders.home, BOX.home],
    ["--bind", folders.tmp, BOX.tmp],
    ["--ro-bind", folders.files, BOX.files],
    ...readable.map(([to, file]) => ["--ro-bind", file, to]),
    // Later than all that can be read, which might hold another one.
    ["--proc", "/proc"],
    ...(relay === undefined
      ? []
      : [
          ["--ro-bind", INIT, INIT_IN_BOX],
          ["--ro-bind", relay, RELAY_IN_BOX],
        ]),
    ["--remount-ro", "/dev"],
    ["--remount-ro", "/"],
  ];
  const init = [NODE_IN_BOX, INIT_IN_BOX, RELAY_IN_BOX, String(RELAY_PORT), JSON.stringify(homeFiles)];
  return [
    bwrap,
    ...CONFINEMENT.flat(),
    ...SYSTEM.flatMap(mountSystem),
    ...ETC.flatMap(mountReadOnly),
    ...mounts.flat(),
    "--chdir",
    BOX.work,
    "--",
    ...(relay === undefined ? [] : init),
    ...command,
  ];
}

/** Makes an empty box. Returns the reason if it cannot be made. */
export function tryBox(): string | undefined {
  const box = findBox();
  if ("problem" in box) return box.problem;
  const folder = createTemporaryFolder();
  try {
    const names = ["work", "home", "tmp", "files", "own"] as const;
    const [work, home, tmp, files, own] = names.map((name) => path.join(folder, name));
    const folders = { work: work!, home: home!, tmp: tmp!, files: files!, own: own! };
    for (const one of Object.values(folders)) mkdirSync(one);
    const empty = { folders, isWorkReadOnly: false, readable: new Map<string, string>(), command: ["/bin/true"] };
    const [program = "", ...args] = toBoxCommand(empty, box.bwrap);
    execFileSync(program, args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8", env: {} });
    return undefined;
  } catch (error) {
    return toText(error instanceof Error && "stderr" in error ? error.stderr : "").trim() || messageOf(error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `/bin` and its like are links into `/usr` on most systems. */
function mountSystem(folder: string): string[] {
  const stats = orElse(undefined, () => lstatSync(folder));
  if (!stats) return [];
  return stats.isSymbolicLink() ? ["--symlink", readlinkSync(folder), folder] : ["--ro-bind", folder, folder];
}

function mountReadOnly(file: string): string[] {
  return existsSync(file) ? ["--ro-bind", file, file] : [];
}

function writeOwnEtc(folder: string): [from: string, to: string][] {
  return Object.entries(OWN_ETC).map(([name, text]) => {
    const file = path.join(folder, name);
    writeFileSync(file, text);
    return [file, `/etc/${name}`];
  });
}

/** A mount would follow a link that the program has put in its way. */
function clearWay(folder: string, way: string): void {
  let place = folder;
  for (const name of way.split(path.sep).slice(0, -1)) {
    place = path.join(place, name);
    if (orElse(undefined, () => lstatSync(place))?.isDirectory()) continue;
    rmSync(place, { force: true });
    mkdirSync(place);
  }
  const last = path.join(folder, way);
  if (orElse(undefined, () => lstatSync(last))?.isSymbolicLink()) rmSync(last);
}

const NODE = realpathSync(process.execPath);
const NODE_IN_BOX = isOfSystem(NODE) ? NODE : "/opt/node/bin/node";

export interface Program {
  /** The paths are those in the box. */
  command: string[];
  /** Files and folders that it needs, and that are not there otherwise, by their path in the box. */
  readable: Map<string, string>;
  /** For `PATH`, as in the box. */
  path: string;
}

/**
 * Finds a program for the box: with the outermost `node_modules` that it is in, or its folder. `own`: what the box must not
 * show; a folder that holds any of it is left out, and the program alone is there. Throws an `ENOENT` if it is missing.
 */
export function locateProgram(
  [written = "", ...args]: readonly string[],
  { cwd, search = "", own }: { cwd: string; search?: string; own: readonly string[] },
): Program {
  const file = findProgram(written, cwd, search);
  const { program, shown } = placeProgram(file, realpathSync(file), own);
  const files = args.flatMap((arg) => toFileArgument(arg) ?? []).map((arg) => outermostModules(arg) ?? arg);
  const folders = [path.dirname(program), path.dirname(NODE_IN_BOX), "/usr/local/bin", "/usr/bin", "/bin"];
  return {
    command: [program, ...args.map(placeArgument)],
    readable: new Map([...shown, ...files].map((one) => [toPlace(one), one])),
    path: [...new Set(folders)].join(path.delimiter),
  };
}

function placeProgram(file: string, real: string, own: readonly string[]): { program: string; shown: string[] } {
  if (real === NODE) return { program: NODE_IN_BOX, shown: [] };
  if (isOfSystem(file) && isOfSystem(real)) return { program: file, shown: [] };
  const folder = outermostModules(real) ?? path.dirname(real);
  const isOpen = ![...own, homedir()].some((one) => isInside(toRealPath(one), folder));
  const shown = isOpen ? folder : real;
  return { program: toPlace(isInside(file, shown) ? file : real), shown: [shown] };
}

function placeArgument(arg: string): string {
  const file = toFileArgument(arg);
  return file === undefined ? arg : arg.slice(0, -file.length) + toPlace(file);
}

/** The path in the box: its own, unless it is in a folder that the program writes. */
function toPlace(file: string): string {
  return [BOX.work, BOX.home].some((folder) => isInside(file, folder)) ? `/opt/agent${file}` : file;
}

function findProgram(written: string, cwd: string, search: string): string {
  const folders = written.includes("/") ? [""] : search.split(path.delimiter);
  const file = folders.map((folder) => path.resolve(cwd, folder, written)).find((one) => statIfAny(one)?.isFile());
  if (file !== undefined) return file;
  throw Object.assign(new Error(`There is no program "${written}".`), { code: "ENOENT" });
}

/** The file that an argument names, also as the value of an option. */
export function toFileArgument(arg: string): string | undefined {
  const file = arg.replace(/^-[\w-]*=/, "");
  return path.isAbsolute(file) && statIfAny(file)?.isFile() ? file : undefined;
}

function outermostModules(file: string): string | undefined {
  return /^.*?\/node_modules(?=\/)/.exec(file)?.[0];
}

function isOfSystem(file: string): boolean {
  return SYSTEM.some((folder) => isInside(file, folder));
}

function isInside(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder === "/" ? folder : `${folder}${path.sep}`);
}

/** Whether one of them shows something of the other. */
export function overlaps(one: string, other: string): boolean {
  const [a, b] = [toRealPath(one), toRealPath(other)];
  return isInside(a, b) || isInside(b, a);
}

/** A path may not exist yet. */
function toRealPath(file: string): string {
  return (
    orElse(undefined, () => realpathSync(file)) ??
    (path.dirname(file) === file ? file : path.join(toRealPath(path.dirname(file)), path.basename(file)))
  );
}

/** The first with `--disable-userns`. */
const MIN_VERSION = [0, 8] as const;

export type FoundBox = { bwrap: string } | { problem: string };

/** The version of each program, as it says it, by its path. */
const versions = new Map<string, string>();

/** Where the program is that makes a box, or why there is none: a whole sentence. */
export function findBox(): FoundBox {
  if (process.platform !== "linux") {
    return { problem: "A sandbox needs Linux with the package bubblewrap. Run the service there, or write false." };
  }
  const folders = (process.env["PATH"] ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const bwrap = folders.map((folder) => path.join(folder, "bwrap")).find((file) => existsSync(file));
  if (bwrap === undefined) {
    return { problem: "The program bwrap is missing, which a sandbox needs. Install the package bubblewrap." };
  }
  const version =
    versions.get(bwrap) ?? orElse("", () => execFileSync(bwrap, ["--version"], { encoding: "utf8" })).trim();
  versions.set(bwrap, version);
  const [major = 0, minor = 0] = /\d+(?:\.\d+)+/.exec(version)?.[0].split(".").map(Number) ?? [];
  if (major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1])) return { bwrap };
  return { problem: `${version || bwrap} is too old: a sandbox needs the package bubblewrap 0.8 or newer.` };
}
