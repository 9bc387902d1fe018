import { createRequire } from "node:module";
import type { Server, Socket } from "node:net";

/** Extensions of IMAP4rev1. The first list is the default. */
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

/** The used part of the package, which has no types. */
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

export interface HoodiecrowOptions {
  users: object;
  certificate?: { key: string; cert: string };
  with?: (typeof SPECIAL)[number][];
  without?: (typeof USUAL)[number][];
  folders?: Record<string, string>;
}

const require = createRequire(import.meta.url);
const hoodiecrow = require("hoodiecrow-imap") as (options: object) => Hoodiecrow;

/** A server that does not listen yet, with fixes for current clients. */
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

/** The package does not announce X-GM-EXT-1, and has no threads. */
function speakGmail(server: Hoodiecrow): void {
  server.capabilities["X-GM-EXT-1"] = () => true;
  server.fetchHandlers["X-GM-THRID"] = (_connection, message) => ({
    type: "ATOM",
    value: `17${message.uid}`,
  });
}

/** The package answers BAD for a missing folder or mail. RFC 3501 reserves BAD for unknown commands. */
function answerNo(server: Hoodiecrow): void {
  server.outputHandlers.push((_connection, response, description) => {
    if (/^(SELECT|EXAMINE|STATUS|FETCH|UID FETCH) FAILED$/.test(description)) response.command = "NO";
  });
}

function settleConnections(server: Hoodiecrow): void {
  server.connectionHandlers.push((connection) => {
    // The package writes line by line, and each line would wait for an acknowledgment.
    connection.socket?.setNoDelay(true);
    connection.socket?.once("close", () => {
      // Only DONE ends the timer of half an hour that IDLE starts.
      if (connection.inputHandler) connection.inputHandler("DONE");
    });
  });
}
