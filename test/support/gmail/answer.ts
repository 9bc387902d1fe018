import type { IncomingMessage } from "node:http";
import type { JsonAnswer } from "../json-server.ts";
import type { EmulatedMailbox } from "./mailbox.ts";
import { GMAIL_PUBLISHER, googleError, type PubsubDouble } from "./pubsub.ts";

export interface Ours {
  user: string;
  mailbox: EmulatedMailbox;
  pubsub: PubsubDouble;
  /** The history before this record is no longer known. */
  forgotten: bigint;
  /** The topic that mails are announced on. */
  watched: string | undefined;
}

/** What the emulator lacks: undefined is for it to answer. */
export async function answerOurs(
  ours: Ours,
  { method = "", url = "" }: IncomingMessage,
  { body, gone }: { body: string; gone: AbortSignal },
): Promise<JsonAnswer | undefined> {
  const { pathname, searchParams } = new URL(url, "http://gmail");
  if (pathname.startsWith("/v1/")) {
    return ours.pubsub.answer({ method, path: pathname.slice(4), body: JSON.parse(body || "{}"), gone });
  }
  if (pathname === "/gmail/v1/users/me/profile") {
    return { status: 200, body: { emailAddress: ours.user, historyId: await ours.mailbox.currentRecord() } };
  }
  if (pathname.endsWith("/history") && BigInt(searchParams.get("startHistoryId") ?? 0) < ours.forgotten) {
    return googleError(404, "NOT_FOUND", "Requested entity was not found.", "notFound");
  }
  return pathname.endsWith("/watch") ? watch(ours, String(JSON.parse(body).topicName)) : undefined;
}

/** Gmail tries a topic before it takes it. */
function watch(ours: Ours, topic: string): JsonAnswer | undefined {
  const failed = `Error sending test message to Cloud PubSub ${topic} : `;
  if (!ours.pubsub.hasTopic(topic)) {
    return googleError(404, "NOT_FOUND", `${failed}Resource not found (resource=gmail).`, "notFound");
  }
  if (!ours.pubsub.mayPublish(topic, GMAIL_PUBLISHER)) {
    return googleError(403, "PERMISSION_DENIED", `${failed}User not authorized to perform this action.`, "forbidden");
  }
  ours.watched = topic;
  return undefined;
}
