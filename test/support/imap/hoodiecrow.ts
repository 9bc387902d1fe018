import { createRequire } from "node:module";
import type { Server, Socket } from "node:net";

/** What the server can do beyond IMAP4rev1, by default the first line. */
const USUAL = ["ENABLE", "ID", "IDLE", "CONDSTORE", "NAMESPACE", "SPECIAL-USE", "UIDPLUS", "SASL-IR"] as const;
const SPECIAL = ["XOAUTH2", "STARTTLS", "LOGINDISABLED", "X-GM-EXT-1"] as const;

export interface Message {
  uid: number;
  raw: string;
  flags: string[];
  "X-GM-LABELS"?: string[];
}

export interface Folder {
  uidvalidity: number;
  uidnext: number;
  messages: Message[];
}

export interface Connection {
  socket: Socket | null;
  inputHandler: ((line: string) => void) | false;
  scheduleCommand(line: string): void;
}

interface Response {
  command?: string;
}

export interface FetchItem {
  section?: { value: string }[];
  partial?: number[];
}

export type FetchHandler = (connection: Connection, message: Message, item: FetchItem) => unknown;

/** What is used of the package, which has no types of its own. */
export interface Hoodiecrow {
  server: Server;
  users: Record<string, unknown>;
  capabilities: Record<string, unknown>;
  connectionHandlers: ((connection: Connection) => void)[];
  outputHandlers: ((connection: Connection, response: Response, description: string) => void)[];
  fetchHandlers: Record<string, FetchHandler>;
  getMailbox(path: string): Folder | undefined;
  appendMessage(folder: Folder, flags: string[], internalDate: Date | undefined, raw: string): { message: Message };
  deleteMailbox(path: string): void;
  notify(response: unknown, folder: Folder): void;
  listen(port: number, host: string): void;
}

/** What it is started with. */
export interface HoodiecrowOptions {
  users: object;
  certificate?: { key: string; cert: string };
  with?: (typeof SPECIAL)[number][];
  without?: (typeof USUAL)[number][];
  folders?: Record<string, string>;
}

const require = createRequire(import.meta.url);
const hoodiecrow = require("hoodiecrow-imap") as (options: object) => Hoodiecrow;

/** A server that does not listen yet, where it is at odds with today's clients put right. */
export function createHoodiecrow({
  users,
  certificate,
  with: more = [],
  without = [],
  folders = {},
}: HoodiecrowOptions): Hoodiecrow {
  const uses = Object.entries(folders).map(([name, use]) => [name, use ? { "special-use": use } : {}]);
  const server = hoodiecrow({
    users,
    plugins: [...USUAL.filter((name) => !without.includes(name)), ...more],
    storage: { INBOX: {}, "": { separator: "/", folders: Object.fromEntries(uses) } },
    secureConnection: certificate !== undefined && !more.includes("STARTTLS"),
    ...(certificate && { credentials: certificate }),
  });
  if (more.includes("X-GM-EXT-1")) speakGmail(server);
  answerNo(server);
  settleConnections(server);
  return server;
}

/** It keeps quiet about X-GM-EXT-1, and has no threads. */
function speakGmail(server: Hoodiecrow): void {
  server.capabilities["X-GM-EXT-1"] = () => true;
  server.fetchHandlers["X-GM-THRID"] = (_connection, message) => ({
    type: "ATOM",
    value: `17${message.uid}`,
  });
}

/** It says BAD of a folder or a mail that is not there, which RFC 3501 keeps for commands that are not understood. */
function answerNo(server: Hoodiecrow): void {
  server.outputHandlers.push((_connection, response, description) => {
    if (/^(SELECT|EXAMINE|STATUS|FETCH|UID FETCH) FAILED$/.test(description)) response.command = "NO";
  });
}

function settleConnections(server: Hoodiecrow): void {
  server.connectionHandlers.push((connection) => {
    // It writes line by line: without this each one waits for the client to confirm the last.
    connection.socket?.setNoDelay(true);
    connection.socket?.once("close", () => {
      // Its IDLE has a timer of half an hour that nothing else ends.
      if (connection.inputHandler) connection.inputHandler("DONE");
    });
  });
}
