import { createEmulator } from "emulate";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import type { GmailOptions } from "../../src/mail/options.ts";
import { answerExtra, type Extras } from "./gmail/answer.ts";
import { askEmulator } from "./gmail/ask-emulator.ts";
import { GMAIL_CLIENT, openMailbox, toSeed } from "./gmail/mailbox.ts";
import { createPubsubDouble, type PubsubDouble } from "./gmail/pubsub.ts";
import type { JsonAnswer } from "./json-server.ts";

export interface GmailServer {
  /** The address of Gmail, Pub/Sub and OAuth. */
  url: string;
  /** For `hooks.mail.source`, without notifications. */
  source: GmailOptions & { kind: "gmail" };
  oauth: GmailOptions["oauth"];
  /** In addition, for notifications. */
  notified: { topic: string; subscription: string };
  pubsub: PubsubDouble;
  /** Puts a mail into the mailbox, and announces it if that was requested. Resolves with Gmail's id. */
  deliver(raw: string | Uint8Array, options?: Delivery): Promise<string>;
  /** Resolves with the id. */
  createLabel(name: string): Promise<string>;
  modify(id: string, change: { addLabelIds?: string[]; removeLabelIds?: string[] }): Promise<void>;
  remove(id: string): Promise<void>;
  /** Forgets all records of the history so far. */
  forgetHistory(): Promise<void>;
  /** Drops all connections. */
  cut(): void;
  /** Revokes the consent. */
  revoke(): Promise<void>;
  /** Answers instead of the server, or returns undefined. `request`: `GET /gmail/v1/users/me/profile`. */
  intercept: (request: string) => JsonAnswer | undefined;
  /** All requests so far, in the form of `intercept`. */
  requests: string[];
  close(): Promise<void>;
}

interface Delivery {
  labelIds?: string[];
  /** Milliseconds since the epoch. */
  receivedAt?: number | undefined;
  isAnnounced?: boolean;
}

/**
 * Gmail for tests: the Google of `emulate` behind a server that adds what it lacks: `users.getProfile`, refusing an old
 * `startHistoryId`, announcing mail on the topic of `users.watch`, and Pub/Sub.
 */
export async function startGmail({
  user = "ann.lee@example.com",
  aliases = ["ann@alias.example"],
} = {}): Promise<GmailServer> {
  const emulator = await createEmulator({ service: "google", port: 0, seed: { google: toSeed(user) } });
  const google = `http://127.0.0.1:${new URL(emulator.url).port}`;
  const mailbox = await openMailbox(google, user);
  const pubsub = createPubsubDouble();
  const extras: Extras = { user, aliases, mailbox, pubsub, forgotten: 0n, watched: undefined };
  const server = createServer((request, response) => {
    // The server was closed during the request.
    serve(request, response).catch(() => response.destroy());
  });
  // Otherwise an idle connection may end just when the next request arrives.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  const oauth = { ...GMAIL_CLIENT, refreshToken: mailbox.refreshToken, tokenUrl: `${url}/oauth2/token` };

  const gmail: GmailServer = {
    url,
    source: { kind: "gmail", user, oauth, apiUrl: url, pubsubUrl: url },
    oauth,
    notified: pubsub.prepare(),
    pubsub,
    async deliver(raw, { labelIds = ["INBOX", "UNREAD"], receivedAt = Date.now(), isAnnounced = true } = {}) {
      const body = {
        raw: Buffer.from(raw).toString("base64url"),
        labelIds,
        internalDate: String(receivedAt),
      };
      const { id } = await mailbox.call("POST", "messages", body);
      if (extras.watched !== undefined && isAnnounced) {
        pubsub.publish(extras.watched, { emailAddress: user, historyId: await mailbox.currentRecord() });
      }
      return String(id);
    },
    createLabel: async (name) => String((await mailbox.call("POST", "labels", { name })).id),
    async modify(id, change) {
      await mailbox.call("POST", `messages/${id}/modify`, change);
    },
    async remove(id) {
      await mailbox.call("DELETE", `messages/${id}`);
    },
    async forgetHistory() {
      extras.forgotten = BigInt(await mailbox.currentRecord());
    },
    cut: () => server.closeAllConnections(),
    async revoke() {
      const body = new URLSearchParams({ token: mailbox.refreshToken });
      await askEmulator(`${google}/oauth2/revoke`, { method: "POST", body });
    },
    intercept: () => undefined,
    requests: [],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await emulator.close();
    },
  };
  return gmail;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url: target = "" } = request;
    const body = await text(request);
    const name = `${method} ${target.replace(/\?.*/, "")}`;
    gmail.requests.push(name);
    const closed = new AbortController();
    response.on("close", () => closed.abort());
    const answer = gmail.intercept(name) ?? (await answerExtra(extras, request, { body, closed: closed.signal }));
    if (answer)
      response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(answer.body));
    else await pass(`${google}${target}`, request, { body, response });
  }
}

/** A raw mail. Its id is derived from its subject. */
export function toMail(subject: string): string {
  return `From: Bob <bob@example.org>\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@example.org>\r\n\r\nHello.\r\n`;
}

async function pass(
  url: string,
  { method, headers }: IncomingMessage,
  { body, response }: { body: string; response: ServerResponse },
): Promise<void> {
  const { authorization = "", "content-type": type = "application/json" } = headers;
  const answer = await askEmulator(url, {
    method,
    redirect: "manual",
    headers: { authorization, "content-type": type },
    ...(body && { body }),
  });
  const { location } = Object.fromEntries(answer.headers);
  response.writeHead(answer.status, {
    "content-type": answer.headers.get("content-type") ?? "",
    ...(location && { location }),
  });
  response.end(await answer.text());
}
