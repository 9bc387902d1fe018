import { once } from "node:events";
import { createRequire } from "node:module";
import type { Server, Socket } from "node:net";

/** What the server can do beyond IMAP4rev1, by default the first line. */
const USUAL = [
  "ENABLE",
  "ID",
  "IDLE",
  "CONDSTORE",
  "NAMESPACE",
  "SPECIAL-USE",
  "UIDPLUS",
  "SASL-IR",
] as const;
const SPECIAL = ["XOAUTH2", "STARTTLS", "LOGINDISABLED", "X-GM-EXT-1"] as const;
export type ImapExtension = (typeof USUAL)[number] | (typeof SPECIAL)[number];

export interface ImapServerOptions {
  /** TLS from the first byte, or after STARTTLS where that is among the extensions. Without it plain text. */
  certificate?: { key: string; cert: string };
  with?: (typeof SPECIAL)[number][];
  without?: (typeof USUAL)[number][];
  /** Folders beside INBOX, with their special use where they have one: `{ Junk: "\\Junk", Lists: "" }`. */
  folders?: Record<string, string>;
}

export interface AppendOptions {
  flags?: string[];
  /** When it was received, in whole seconds. */
  receivedAt?: Date;
  /** Where X-GM-EXT-1 is spoken. */
  labels?: string[];
}

/** hoodiecrow-imap on a free loopback port of this process, and what it cannot be asked over the wire. */
export interface ImapServer {
  host: string;
  port: number;
  user: string;
  password: string;
  /** What XOAUTH2 takes. */
  accessToken: string;
  /** Delivers a mail. Gives its uid. */
  append(folder: string, bytes: Uint8Array | string, options?: AppendOptions): number;
  expunge(folder: string, uid: number): void;
  /** INBOX cannot be deleted. Whoever has the folder open is told nothing, as some servers do. */
  deleteFolder(folder: string): void;
  /** The same mails under other uids, in the same order. Cuts the connections, as servers do. */
  newUidValidity(folder: string): void;
  /** Cuts every connection without a word. */
  dropConnections(): void;
  /** The connections that are open stay so, and nothing is answered on them any more. */
  muteConnections(): void;
  refuseLogins(refuse: boolean): void;
  /** The next times that this mail's text is asked for, the connection is cut in the middle of the answer. */
  cutWithin(folder: string, uid: number, times?: number): void;
  /** This mail's text is never given. */
  failOn(folder: string, uid: number): void;
  /** Nothing of this mail is ever given. */
  hide(folder: string, uid: number): void;
  connectionCount(): number;
  /** How many clients are in IDLE. */
  idleCount(): number;
  /** The commands so far, without their tags; of a login only its name. */
  commands(): string[];
  close(): Promise<void>;
}

interface Message {
  uid: number;
  raw: string;
  flags: string[];
  "X-GM-LABELS"?: string[];
}

interface Folder {
  uidvalidity: number;
  uidnext: number;
  messages: Message[];
}

interface Connection {
  socket: Socket | null;
  inputHandler: ((line: string) => void) | false;
  scheduleCommand(line: string): void;
}

interface Response {
  command?: string;
}

interface FetchItem {
  section?: { value: string }[];
  partial?: number[];
}

type FetchHandler = (connection: Connection, message: Message, item: FetchItem) => unknown;

/** What is used of the package, which has no types of its own. */
interface Hoodiecrow {
  server: Server;
  users: Record<string, unknown>;
  capabilities: Record<string, unknown>;
  connectionHandlers: ((connection: Connection) => void)[];
  outputHandlers: ((connection: Connection, response: Response, description: string) => void)[];
  fetchHandlers: Record<string, FetchHandler>;
  getMailbox(path: string): Folder | undefined;
  appendMessage(
    folder: Folder,
    flags: string[],
    internalDate: Date | undefined,
    raw: string,
  ): { message: Message };
  deleteMailbox(path: string): void;
  notify(response: unknown, folder: Folder): void;
  listen(port: number, host: string): void;
}

const require = createRequire(import.meta.url);
const hoodiecrow = require("hoodiecrow-imap") as (options: object) => Hoodiecrow;
const FETCH = require("hoodiecrow-imap/lib/commands/handlers/fetch.js") as Record<string, FetchHandler>;

const HOST = "127.0.0.1";
const USER = "ann@example.com";
const PASSWORD = "correct horse";
const ACCESS_TOKEN = "ya29.access";
const USERS = { [USER]: { password: PASSWORD, xoauth2: { accessToken: ACCESS_TOKEN } } };

export async function startImapServer(options: ImapServerOptions = {}): Promise<ImapServer> {
  const server = createServer(options);
  speakGmail(server, options.with?.includes("X-GM-EXT-1") ?? false);
  const connections = followConnections(server);
  const commands = recordCommands(server);
  const faults = injectFaults(server);
  answerNoWhereItSaysBad(server);
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
    expunge: (folder, uid) => expunge(server, requireFolder(server, folder), uid),
    deleteFolder: (folder) => server.deleteMailbox(folder),
    newUidValidity(folder) {
      renumber(requireFolder(server, folder));
      dropConnections();
    },
    dropConnections,
    muteConnections: () => connections.forEach(mute),
    refuseLogins: (refuse) => void (server.users = refuse ? {} : USERS),
    cutWithin: (folder, uid, times = 1) =>
      void faults.set(requireMessage(server, folder, uid), { kind: "cut", times }),
    failOn: (folder, uid) => void faults.set(requireMessage(server, folder, uid), { kind: "fail" }),
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

function createServer({
  certificate,
  with: more = [],
  without = [],
  folders = {},
}: ImapServerOptions): Hoodiecrow {
  const uses = Object.entries(folders).map(([name, use]) => [name, use ? { "special-use": use } : {}]);
  return hoodiecrow({
    users: USERS,
    plugins: [...USUAL.filter((name) => !without.includes(name)), ...more],
    storage: { INBOX: {}, "": { separator: "/", folders: Object.fromEntries(uses) } },
    secureConnection: certificate !== undefined && !more.includes("STARTTLS"),
    ...(certificate && { credentials: certificate }),
  });
}

/** hoodiecrow keeps quiet about X-GM-EXT-1, and has no threads. */
function speakGmail(server: Hoodiecrow, speaks: boolean): void {
  if (!speaks) return;
  server.capabilities["X-GM-EXT-1"] = () => true;
  server.fetchHandlers["X-GM-THRID"] = (_connection, message) => ({
    type: "ATOM",
    value: `17${message.uid}`,
  });
}

function followConnections(server: Hoodiecrow): Set<Connection> {
  const connections = new Set<Connection>();
  server.connectionHandlers.push((connection) => {
    connections.add(connection);
    // It writes line by line: without this each one waits for the client to confirm the last.
    connection.socket?.setNoDelay(true);
    connection.socket?.once("close", () => {
      connections.delete(connection);
      // Its IDLE has a timer of half an hour that nothing else ends.
      if (connection.inputHandler) connection.inputHandler("DONE");
    });
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

/** What comes of it when a mail is asked for. */
type Fault = { kind: "cut"; times: number } | { kind: "fail" } | { kind: "hide" };

/** The mails that cannot be had as usual. */
function injectFaults(server: Hoodiecrow): Map<Message, Fault> {
  const faults = new Map<Message, Fault>();
  for (const [name, answer] of Object.entries(FETCH)) {
    server.fetchHandlers[name] = (connection, message, item) => {
      const fault = faults.get(message);
      if (fault && (fault.kind === "hide" || isText(name, item))) meet(fault, connection, message);
      // A range of bytes is used up as it is read: the next mail would get none.
      const own = { ...item, ...(item.partial && { partial: [...item.partial] }) };
      return answer(connection, message, own);
    };
  }
  return faults;
}

function isText(name: string, { section }: FetchItem): boolean {
  return /^BODY(\.PEEK)?$/.test(name) && section !== undefined && !/^HEADER/i.test(section[0]?.value ?? "");
}

function meet(fault: Fault, { socket }: Connection, { uid, raw }: Message): void {
  if (fault.kind === "cut") {
    if (fault.times <= 0) return;
    fault.times -= 1;
    socket?.write(`* 1 FETCH (UID ${uid} BODY[] {${raw.length}}\r\nFrom: `);
    socket?.destroySoon();
  }
  throw new Error("This mail cannot be read.");
}

/** hoodiecrow says BAD of a folder or a mail that is not there, which RFC 3501 keeps for commands that are not understood. */
function answerNoWhereItSaysBad(server: Hoodiecrow): void {
  server.outputHandlers.push((_connection, response, description) => {
    if (/^(SELECT|EXAMINE|STATUS|FETCH|UID FETCH) FAILED$/.test(description)) response.command = "NO";
  });
}

function append(
  server: Hoodiecrow,
  folder: Folder,
  bytes: Uint8Array | string,
  options: AppendOptions = {},
): number {
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
