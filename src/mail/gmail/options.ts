import type { FromSchema } from "json-schema-to-ts";
import type { OptionProblem } from "../../plugin.ts";
import { GOOGLE_TOKEN } from "../../shared/google-token.ts";
import { HTTP_URL } from "../../shared/json.ts";
import { oauthSchema, checkHttps, TEXT } from "../options.ts";

export const gmailSchema = {
  type: "object",
  additionalProperties: false,
  description: "Gmail's own API with its notifications over Pub/Sub.",
  required: ["user", "oauth"],
  properties: {
    user: { ...TEXT, description: "The mailbox's address." },
    oauth: { ...oauthSchema, description: "Access by OAuth 2, with a refresh token. Google's tokenUrl is known." },
    topic: {
      type: "string",
      pattern: "^projects/[^/\\s]+/topics/[^/\\s]+$",
      description: "The Pub/Sub topic that Gmail notifies. Required with subscription or push.",
    },
    subscription: {
      type: "string",
      pattern: "^projects/[^/\\s]+/subscriptions/[^/\\s]+$",
      description: "The subscription to pull. This or push; without either, Gmail is asked once a minute.",
    },
    push: {
      type: "object",
      additionalProperties: false,
      required: ["audience", "serviceAccount"],
      description: "Pub/Sub posts to /mail/push of this service instead, with a signed token.",
      properties: GOOGLE_TOKEN,
    },
    apiUrl: { ...HTTP_URL, description: "Where Gmail's API is, for tests. Default: Google's own." },
    pubsubUrl: { ...HTTP_URL, description: "Where Pub/Sub is, for tests and its emulator. Default: Google's own." },
  },
} as const;

export type GmailOptions = FromSchema<typeof gmailSchema>;

/** Checks that the schema cannot express. */
export function checkGmail({
  user,
  oauth,
  topic,
  subscription,
  push,
  apiUrl,
  pubsubUrl,
}: GmailOptions): OptionProblem[] {
  const urls = { apiUrl, pubsubUrl, "oauth.tokenUrl": oauth.tokenUrl, "push.keysUrl": push?.keysUrl };
  const problems = checkHttps(urls);
  if (!user.includes("@")) problems.push({ key: "user", message: "must be the mailbox's address" });
  if (subscription && push) problems.push({ key: "push", message: "set either subscription or push, not both" });
  if ((subscription || push) && !topic) {
    problems.push({ key: "topic", message: "is required with subscription or push: Gmail notifies it" });
  }
  if (topic && !subscription && !push) {
    const message = "has no effect without subscription or push: Gmail is asked once a minute";
    problems.push({ key: "topic", message, level: "warning" });
  }
  return problems;
}
