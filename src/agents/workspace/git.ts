import { existsSync } from "node:fs";
import { once } from "node:events";
import path from "node:path";
import { DriverError } from "../../core/errors.ts";
import { pickEnvironment, startProcess } from "../../core/shared/system/child-process.ts";

/** The repository and the files of a command of git, which knows no other configuration, and starts no other program. */
export interface GitOptions {
  /** The bare repository. */
  repository: string;
  /** The folder with the files. Its own `.git` is never used. */
  tree?: string;
  /** The folder with the head and the index of these files. Default: those of the repository. */
  own?: string;
  /** The index. */
  index?: string;
  /** Where new objects are written. Default: the repository. */
  objects?: string;
  /** Names and date of a commit. */
  variables?: Record<string, string>;
  /** For a fetch or a push: the value of the header, which is in the environment of this one command. */
  authorization?: string;
  input?: string | Buffer;
  signal: AbortSignal;
}

/** A command that git has refused. */
export class GitFailed extends Error {
  override name = "GitFailed";
  /** The end of what git wrote, in English. */
  readonly output: string;

  constructor(command: string, output: string) {
    super(`git ${command}: ${output.slice(0, 300)}`);
    this.output = output;
  }
}

/** Settings of every command. Those of the system, of users and of repositories do not count. */
const SETTINGS = {
  "core.hooksPath": "/dev/null",
  "core.fsmonitor": "false",
  "core.untrackedCache": "false",
  "core.preloadIndex": "false",
  "core.attributesFile": "/dev/null",
  "core.excludesFile": "/dev/null",
  "core.pager": "cat",
  "core.autocrlf": "false",
  "core.symlinks": "true",
  "core.fileMode": "true",
  "core.ignoreCase": "false",
  "core.precomposeUnicode": "false",
  "core.quotePath": "false",
  "core.protectHFS": "true",
  "core.protectNTFS": "true",
  "core.checkStat": "default",
  "core.bigFileThreshold": "64m",
  "core.alternateRefsCommand": "true",
  "credential.helper": "",
  "http.followRedirects": "false",
  "http.sslVerify": "true",
  "http.lowSpeedLimit": "1000",
  "http.lowSpeedTime": "60",
  "protocol.allow": "never",
  "protocol.https.allow": "always",
  "protocol.version": "2",
  "fetch.recurseSubmodules": "false",
  "fetch.unpackLimit": "1",
  "push.recurseSubmodules": "no",
  "push.gpgSign": "false",
  "submodule.recurse": "false",
  "commit.gpgSign": "false",
  "gc.auto": "0",
  "maintenance.auto": "false",
  "pack.threads": "1",
  "i18n.commitEncoding": "UTF-8",
  "uploadpack.packObjectsHook": "",
  "advice.diverging": "false",
};

/** Attributes of the repository would change files on their way: line ends, encodings, filters. These have precedence. */
export const NO_ATTRIBUTES = "* -text !eol -ident -filter !working-tree-encoding !diff !merge\n";

/** Nobody is asked, and nothing is read from a home. */
const FIXED = {
  HOME: "/nonexistent",
  XDG_CONFIG_HOME: "/nonexistent",
  LC_ALL: "C",
  TZ: "UTC",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "/bin/false",
  SSH_ASKPASS: "/bin/false",
  GIT_SSH_COMMAND: "/bin/false",
  GIT_PROTOCOL_FROM_USER: "0",
  GIT_EDITOR: "/bin/false",
  GIT_PAGER: "cat",
};

/** The way out, and the certificates, as the service has them. */
const OF_SERVICE = [
  "PATH",
  "HTTPS_PROXY",
  "https_proxy",
  "http_proxy",
  "NO_PROXY",
  "no_proxy",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
];

/** A command that writes more is ended. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs a command. Rejects with `GitFailed`, or with the signal's reason. */
export function git(args: readonly string[], options: GitOptions): Promise<Buffer> {
  return run(["git", ...args], args[0] ?? "", options);
}

/**
 * Runs commands until one fails, each with what is left of the input, and gives all that they write. One shell starts them:
 * Linux copies the page tables of the service for each program that it starts itself.
 */
export function gitAll(commands: readonly (readonly string[])[], options: GitOptions): Promise<Buffer> {
  const script = commands.map((args) => ["git", ...args].map(quote).join(" ")).join(" && ");
  return run(["/bin/sh", "-c", script], commands.map(([name]) => name).join(", "), options);
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

async function run(command: string[], name: string, options: GitOptions): Promise<Buffer> {
  const { repository, tree, input = "", signal } = options;
  signal.throwIfAborted();
  const { child, started, end, stderrTail, kill } = startProcess({
    command,
    cwd: tree ?? repository,
    env: toEnvironment(options),
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_OUTPUT_BYTES) kill();
    else chunks.push(chunk);
  });
  await started;
  signal.addEventListener("abort", end, { once: true });
  const closed = once(child, "close");
  child.stdin.end(input);
  await closed;
  signal.removeEventListener("abort", end);
  signal.throwIfAborted();
  if (child.exitCode === 0 && bytes <= MAX_OUTPUT_BYTES) return Buffer.concat(chunks);
  throw new GitFailed(name, await stderrTail());
}

function toEnvironment(options: GitOptions): NodeJS.ProcessEnv {
  const { repository, tree, own, index, objects, variables, authorization } = options;
  const settings: [string, string][] = [
    ...Object.entries(SETTINGS),
    ...(authorization === undefined
      ? []
      : [["http.extraHeader", `Authorization: ${authorization}`] as [string, string]]),
  ];
  return {
    ...pickEnvironment(OF_SERVICE),
    ...FIXED,
    GIT_DIR: own ?? repository,
    ...(own !== undefined && { GIT_COMMON_DIR: repository }),
    ...(tree !== undefined && { GIT_WORK_TREE: tree }),
    ...(index !== undefined && { GIT_INDEX_FILE: index }),
    ...(objects !== undefined && {
      GIT_OBJECT_DIRECTORY: objects,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: path.join(repository, "objects"),
    }),
    ...variables,
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
  };
}

/** Allows `http` for an account whose address is one. */
export function protocolOf(url: string): Record<string, string> {
  return { GIT_ALLOW_PROTOCOL: url.startsWith("http:") ? "http" : "https" };
}

/** Parts of what git writes about a remote repository, and what that means. */
const REFUSALS: [pattern: RegExp, reason: string, retryable: boolean][] = [
  [
    /authentication failed|could not read (?:username|password)|error: 401|401 unauthorized/i,
    "it refuses the token",
    false,
  ],
  [/error: 403|403 forbidden|permission to .* denied|write access .* not granted/i, "the token may not do this", false],
  [/repository .* not found|error: 404|404 not found/i, "it has no such repository, or the token cannot see it", false],
  [/couldn't find remote ref|not our ref|no such ref|invalid refspec/i, "it has no such commit or branch", false],
  [/redirect/i, "it redirects, which is not followed: the repository may have another name", false],
  [/workflow.* scope|refusing to allow/i, "the token may not change workflows", false],
];

/** The error for a fetch or a push that git could not do. It shows nothing of what git wrote. */
export function toRemoteFailure(error: unknown, what: string): DriverError {
  if (error instanceof DriverError) return error;
  if (!(error instanceof GitFailed)) throw error;
  const found = REFUSALS.find(([pattern]) => pattern.test(error.output));
  const [, reason, retryable] = found ?? [undefined, "the server gave no answer that git could use", true];
  return new DriverError(`${what}: ${reason}.`, { retryable });
}

/** Why there can be no workspace on this machine: a whole sentence; undefined: there can. */
export function findNoGit(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  if (folders.some((folder) => existsSync(path.join(folder, "git")))) return undefined;
  return "The program git is missing, which a workspace needs. Install the package git.";
}
