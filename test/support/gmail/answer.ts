import type { IncomingMessage } from "node:http";
import type { JsonAnswer } from "../json-server.ts";
import type { EmulatedMailbox } from "./mailbox.ts";
import { GMAIL_PUBLISHER, googleError, type PubsubDouble } from "./pubsub.ts";

export interface Extras {
  user: string;
  /** Other addresses that the user sends from. */
  aliases: string[];
  mailbox: EmulatedMailbox;
  pubsub: PubsubDouble;
  /** History before this record is forgotten. */
  forgotten: bigint;
  /** The topic on which mail is announced. */
  watched: string | undefined;
}

/** Answers what the emulator cannot. Undefined: the emulator answers. */
export async function answerExtra(
  extras: Extras,
  { method = "", url = "" }: IncomingMessage,
  { body, closed }: { body: string; closed: AbortSignal },
): Promise<JsonAnswer | undefined> {
  const { pathname, searchParams } = new URL(url, "http://gmail");
  if (pathname.startsWith("/v1/")) {
    return extras.pubsub.answer({ method, path: pathname.slice(4), body: JSON.parse(body || "{}"), closed });
  }
  if (pathname === "/gmail/v1/users/me/profile") {
    return { status: 200, body: { emailAddress: extras.user, historyId: await extras.mailbox.currentRecord() } };
  }
  if (pathname === "/gmail/v1/users/me/settings/sendAs") {
    return { status: 200, body: { sendAs: [extras.user, ...extras.aliases].map((sendAsEmail) => ({ sendAsEmail })) } };
  }
  if (pathname.endsWith("/history") && BigInt(searchParams.get("startHistoryId") ?? 0) < extras.forgotten) {
    return googleError(404, "NOT_FOUND", "Requested entity was not found.", "notFound");
  }
  return pathname.endsWith("/watch") ? watch(extras, String(JSON.parse(body).topicName)) : undefined;
}

/** Gmail tests a topic before it accepts it. */
function watch(extras: Extras, topic: string): JsonAnswer | undefined {
  const failed = `Error sending test message to Cloud PubSub ${topic} : `;
  if (!extras.pubsub.hasTopic(topic)) {
    return googleError(404, "NOT_FOUND", `${failed}Resource not found (resource=gmail).`, "notFound");
  }
  if (!extras.pubsub.mayPublish(topic, GMAIL_PUBLISHER)) {
    return googleError(403, "PERMISSION_DENIED", `${failed}User not authorized to perform this action.`, "forbidden");
  }
  extras.watched = topic;
  return undefined;
}
