import { once } from "node:events";
import {
  type Connection,
  createHoodiecrow,
  type Folder,
  type Hoodiecrow,
  type HoodiecrowOptions,
  type Message,
} from "./imap/hoodiecrow.ts";
import { injectFaults } from "./imap/inject-faults.ts";

export interface ImapServerOptions extends Omit<HoodiecrowOptions, "users"> {
  /** For implicit TLS, or for STARTTLS if that is among the extensions. Without it: plain text. */
  certificate?: { key: string; cert: string };
  /** Folders besides INBOX, with their special use or an empty string: `{ Junk: "\\Junk", Lists: "" }`. */
  folders?: Record<string, string>;
}

export interface AppendOptions {
  flags?: string[];
  /** In whole seconds. */
  receivedAt?: Date;
  /** With X-GM-EXT-1. */
  labels?: string[];
}

/** hoodiecrow-imap on a free loopback port of this process, and control over it. */
export interface ImapServer {
  host: string;
  port: number;
  user: string;
  password: string;
  /** For XOAUTH2. */
  accessToken: string;
  /** Delivers a mail and returns its uid. */
  append(folder: string, bytes: Uint8Array | string, options?: AppendOptions): number;
  /** The mails of a folder, oldest first. */
  mails(folder: string): string[];
  expunge(folder: string, uid: number): void;
  /** Not INBOX. Clients that have the folder open are not notified, as with some servers. */
  deleteFolder(folder: string): void;
  /** Gives the mails other uids, in the same order. Drops the connections, as servers do. */
  newUidValidity(folder: string): void;
  /** Drops all connections without a BYE. */
  dropConnections(): void;
  /** Keeps the connections open, but no longer answers on them. */
  muteConnections(): void;
  refuseLogins(refuse: boolean): void;
  /** Drops the connection in the middle of this mail's text, for the next requests. */
  cutWithin(folder: string, uid: number, times?: number): void;
  /** Refuses this mail's text. */
  failOn(folder: string, uid: number): void;
  /** Gives NIL for what the pattern matches of this mail: `BODY[]`, `BODY[HEADER]`, `INTERNALDATE`. */
  giveNil(folder: string, uid: number, items: RegExp): void;
  /** Refuses everything about this mail. */
  hide(folder: string, uid: number): void;
  connectionCount(): number;
  /** How many clients are in IDLE. */
  idleCount(): number;
  /** The commands so far, without tags and credentials. */
  commands(): string[];
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
const USER = "ann@example.com";
const PASSWORD = "correct horse";
const ACCESS_TOKEN = "ya29.access";
const USERS = { [USER]: { password: PASSWORD, xoauth2: { accessToken: ACCESS_TOKEN } } };

export async function startImapServer(options: ImapServerOptions = {}): Promise<ImapServer> {
  const server = createHoodiecrow({ users: USERS, ...options });
  const connections = followConnections(server);
  const commands = recordCommands(server);
  const faults = injectFaults(server);
  server.listen(0, HOST);
  await once(server.server, "listening");
  const address = server.server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");

  const dropConnections = (): void => connections.forEach(({ socket }) => socket?.destroy());
  return {
    host: HOST,
    port: address.port,
    user: USER,
    password: PASSWORD,
    accessToken: ACCESS_TOKEN,
    append: (folder, bytes, how) => append(server, requireFolder(server, folder), bytes, how),
    mails: (folder) => requireFolder(server, folder).messages.map(({ raw }) => Buffer.from(raw, "latin1").toString()),
    expunge: (folder, uid) => expunge(server, requireFolder(server, folder), uid),
    deleteFolder: (folder) => server.deleteMailbox(folder),
    newUidValidity(folder) {
      renumber(requireFolder(server, folder));
      dropConnections();
    },
    dropConnections,
    muteConnections: () => connections.forEach(mute),
    refuseLogins: (refuse) => void (server.users = refuse ? {} : USERS),
    cutWithin: (folder, uid, times = 1) => void faults.set(requireMessage(server, folder, uid), { kind: "cut", times }),
    failOn: (folder, uid) => void faults.set(requireMessage(server, folder, uid), { kind: "fail" }),
    giveNil: (folder, uid, items) => void faults.set(requireMessage(server, folder, uid), { kind: "nil", items }),
    hide: (folder, uid) => void faults.set(requireMessage(server, folder, uid), { kind: "hide" }),
    connectionCount: () => connections.size,
    idleCount: () => [...connections].filter(({ inputHandler }) => inputHandler !== false).length,
    commands: () => [...commands],
    async close() {
      const closed = once(server.server, "close");
      server.server.close();
      dropConnections();
      await closed;
    },
  };
}

function followConnections(server: Hoodiecrow): Set<Connection> {
  const connections = new Set<Connection>();
  server.connectionHandlers.push((connection) => {
    connections.add(connection);
    connection.socket?.once("close", () => connections.delete(connection));
  });
  return connections;
}

function recordCommands(server: Hoodiecrow): string[] {
  const commands: string[] = [];
  server.connectionHandlers.push((connection) => {
    const schedule = connection.scheduleCommand.bind(connection);
    connection.scheduleCommand = (line) => {
      const command = line.replace(/^\S+ /, "");
      commands.push(command.replace(/^(LOGIN|AUTHENTICATE \S+).*$/is, "$1"));
      schedule(line);
    };
  });
  return commands;
}

function append(server: Hoodiecrow, folder: Folder, bytes: Uint8Array | string, options: AppendOptions = {}): number {
  // hoodiecrow keeps mails as binary strings.
  const raw = Buffer.from(bytes).toString("latin1");
  const { message } = server.appendMessage(folder, options.flags ?? [], options.receivedAt, raw);
  if (options.labels) message["X-GM-LABELS"]?.push(...options.labels);
  return message.uid;
}

function expunge(server: Hoodiecrow, folder: Folder, uid: number): void {
  const index = folder.messages.findIndex((message) => message.uid === uid);
  folder.messages.splice(index, 1);
  server.notify({ tag: "*", attributes: [index + 1, { type: "ATOM", value: "EXPUNGE" }] }, folder);
}

function renumber(folder: Folder): void {
  folder.uidvalidity += 1;
  for (const message of folder.messages) message.uid += 1000;
  folder.uidnext += 1000;
}

function mute({ socket }: Connection): void {
  if (socket) socket.write = () => true;
}

function requireMessage(server: Hoodiecrow, path: string, uid: number): Message {
  const message = requireFolder(server, path).messages.find((each) => each.uid === uid);
  if (!message) throw new Error(`There is no mail ${uid} in ${path}.`);
  return message;
}

function requireFolder(server: Hoodiecrow, path: string): Folder {
  const folder = server.getMailbox(path);
  if (!folder) throw new Error(`There is no folder ${path}.`);
  return folder;
}
