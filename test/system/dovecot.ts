import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { waitFor } from "../support/client.ts";
import { type DovecotFiles, makeDovecotFiles, passwordOf, writeUsers } from "./dovecot-files.ts";
import { createMaildir, type Maildir } from "./maildir.ts";

/** Debian's Dovecot on loopback. Each user has the folders INBOX, Junk, Trash and Drafts. */
export interface Dovecot {
  host: string;
  /** Plain and STARTTLS. */
  imapPort: number;
  imapsPort: number;
  /** The file to trust, as `NODE_EXTRA_CA_CERTS`. */
  certificate: string;
  passwordOf(user: string): string;
  /** Delivers mail without IMAP. */
  maildir(user: string, folder?: string): Maildir;
  /** Sets whether the user's right password is refused. Open connections stay open. */
  refuseLogin(user: string, isRefused: boolean): Promise<void>;
  createFolder(user: string, folder: string): Promise<void>;
  /** Deletes a folder with its mails. */
  deleteFolder(user: string, folder: string): Promise<void>;
  /** Sets a new uidValidity at once; the mails keep their uids. */
  renewUidValidity(user: string, folder?: string): Promise<void>;
  /** Restarts with new uids under a new uidValidity, like after the restore of a backup. */
  rebuild(user: string, folder?: string): Promise<void>;
  /** Ends the user's connections. */
  dropConnections(user: string): Promise<void>;
  /** Runs any other command, see `man doveadm`, and returns its output. */
  doveadm(...args: string[]): Promise<string>;
  log(): string;
  stop(): Promise<void>;
  /** After `stop`: same ports, same mails. */
  start(): Promise<void>;
  /** Stops the server and removes everything. */
  close(): Promise<void>;
}

/** Starts Dovecot with all its files in a temporary folder. `users`: the addresses that get a mailbox. */
export async function startDovecot(users: string[] = ["ann@example.com"]): Promise<Dovecot> {
  const files = await makeDovecotFiles(users);
  const server: Server = { files, refused: new Set(), child: await run(files) };
  const doveadm: Dovecot["doveadm"] = (...args) => runDoveadm(files, args);
  for (const user of users) await doveadm("mailbox", "create", "-u", user, ...FOLDERS);
  return {
    host: "127.0.0.1",
    imapPort: files.imapPort,
    imapsPort: files.imapsPort,
    certificate: files.certificate,
    passwordOf,
    maildir: (user, folder = "INBOX") => createMaildir(toFolder(files, user, folder), files.owner),
    refuseLogin: (user, isRefused) => refuseLogin(server, user, isRefused),
    createFolder: async (user, folder) => void (await doveadm("mailbox", "create", "-u", user, folder)),
    deleteFolder: async (user, folder) => void (await doveadm("mailbox", "delete", "-s", "-u", user, folder)),
    renewUidValidity: (user, folder = "INBOX") => renewUidValidity(files, user, folder),
    rebuild: (user, folder = "INBOX") => rebuild(server, user, folder),
    dropConnections: (user) => dropConnections(files, user),
    doveadm,
    log: () => readLog(files),
    stop: () => stop(server),
    start: async () => void (server.child = await run(files)),
    async close() {
      await stop(server);
      rmSync(files.root, { recursive: true, force: true });
    },
  };
}

interface Server {
  files: DovecotFiles;
  /** Users whose login is refused. */
  refused: Set<string>;
  child: ChildProcess;
}

const FOLDERS = ["INBOX", "Junk", "Trash", "Drafts"];
/** Exit codes of `doveadm kick`. */
const NOBODY_CONNECTED = 68;

async function run(files: DovecotFiles): Promise<ChildProcess> {
  const child = spawn("/usr/sbin/dovecot", ["-F", "-c", files.config], { stdio: "ignore" });
  await once(child, "spawn");
  await waitFor(() => child.exitCode !== null || greets(files.imapPort), "dovecot to listen");
  if (child.exitCode !== null) throw new Error(`dovecot ended with ${child.exitCode}: ${readLog(files)}`);
  return child;
}

/** Accepts connections once logins work. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    socket.once("data", () => {
      resolve(true);
      socket.destroy();
    });
  });
}

async function stop({ child }: Server): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

async function runDoveadm({ config }: DovecotFiles, args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("/usr/bin/doveadm", ["-c", config, ...args]);
  return stdout;
}

async function refuseLogin({ files, refused }: Server, user: string, isRefused: boolean): Promise<void> {
  if (isRefused) refused.add(user);
  else refused.delete(user);
  writeUsers(files, refused);
  // Dovecot checks the file for changes once a second.
  const isSo = async (): Promise<boolean> => (await canLogIn(files, user)) !== isRefused;
  await waitFor(isSo, "dovecot to read its users");
}

function canLogIn(files: DovecotFiles, user: string): Promise<boolean> {
  return runDoveadm(files, ["auth", "test", user, passwordOf(user)]).then(
    () => true,
    () => false,
  );
}

async function dropConnections(files: DovecotFiles, user: string): Promise<void> {
  await runDoveadm(files, ["kick", user]).catch((error) => {
    if (error.code !== NOBODY_CONNECTED) throw error;
  });
}

async function renewUidValidity(files: DovecotFiles, user: string, folder: string): Promise<void> {
  const status = await runDoveadm(files, ["mailbox", "status", "-u", user, "uidvalidity", folder]);
  const next = String(Number(/uidvalidity=(\d+)/.exec(status)?.[1]) + 1);
  await runDoveadm(files, ["mailbox", "update", "-u", user, "--uid-validity", next, folder]);
}

async function rebuild(server: Server, user: string, folder: string): Promise<void> {
  await stop(server);
  for (const name of UID_FILES) rmSync(path.join(toFolder(server.files, user, folder), name), { force: true });
  server.child = await run(server.files);
}

const UID_FILES = ["dovecot-uidlist", "dovecot.index", "dovecot.index.log", "dovecot.index.cache"];

/** For a name in ASCII. */
function toFolder({ root }: DovecotFiles, user: string, folder: string): string {
  return path.join(root, "mail", user, "Maildir", folder === "INBOX" ? "" : `.${folder}`);
}

function readLog({ root }: DovecotFiles): string {
  return readFileSync(path.join(root, "dovecot.log"), "utf8");
}
