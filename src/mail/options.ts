import type { FromSchema } from "json-schema-to-ts";
import type { OptionProblem } from "../plugin.ts";
import { GOOGLE_TOKEN } from "../shared/google-token.ts";
import { HTTP_URL, objectSchema } from "../shared/json.ts";
import { isLoopback } from "../shared/network.ts";

const TEXT = { type: "string", minLength: 1 } as const;

/** Access by OAuth 2 with a refresh token. */
const oauthSchema = objectSchema(["clientId", "refreshToken"], {
  tokenUrl: { ...HTTP_URL, description: "Where access tokens come from." },
  clientId: { ...TEXT, description: "The client's id." },
  clientSecret: { ...TEXT, description: "The client's secret, if it has one, as ${ENV} or ${file:PATH}." },
  refreshToken: { ...TEXT, description: "As ${ENV} or ${file:PATH}." },
  scope: { ...TEXT, description: "Scopes to ask for, separated by spaces, if the provider requires them." },
});

export const imapSchema = {
  description: "Any mailbox that speaks IMAP.",
  ...objectSchema(["host", "user"], {
    host: { ...TEXT, description: "The server's name." },
    port: { type: "integer", minimum: 1, maximum: 65_535, description: "Default: 993, without implicit TLS 143." },
    tls: {
      enum: ["implicit", "starttls", "none"],
      default: "implicit",
      description: "none is for a server on this machine only.",
    },
    user: { ...TEXT, description: "The login name." },
    password: { ...TEXT, description: "As ${ENV} or ${file:PATH}. Set either this or oauth." },
    oauth: { ...oauthSchema, description: "Access by OAuth 2, with a refresh token." },
    folders: {
      type: "array",
      items: TEXT,
      minItems: 1,
      maxItems: 10,
      uniqueItems: true,
      default: ["INBOX"],
      description: "The folders to follow, one connection each.",
    },
  }),
} as const;

export type ImapOptions = FromSchema<typeof imapSchema>;

export function checkImap({ host, tls, password, oauth }: ImapOptions): OptionProblem[] {
  const problems = checkHttps({ "oauth.tokenUrl": oauth?.tokenUrl });
  if (!password && !oauth) problems.push({ key: "password", message: "A password is required, or oauth instead." });
  if (password && oauth) problems.push({ key: "oauth", message: "Set either password or oauth, not both." });
  if (oauth && !oauth.tokenUrl)
    problems.push({ key: "oauth.tokenUrl", message: "The URL for access tokens is required for an IMAP mailbox." });
  if (tls === "none" && !isLoopback(host)) {
    problems.push({
      key: "tls",
      message:
        '"none" would send the password in clear text: it is for this machine only. Use "implicit" or "starttls".',
    });
  }
  return problems;
}

export const gmailSchema = {
  description: "Gmail's own API with its notifications over Pub/Sub.",
  ...objectSchema(["user", "oauth"], {
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
  }),
} as const;

export type GmailOptions = FromSchema<typeof gmailSchema>;

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
  if (!user.includes("@")) problems.push({ key: "user", message: "The user must be the mailbox's address." });
  if (subscription && push) problems.push({ key: "push", message: "Set either subscription or push, not both." });
  if ((subscription || push) && !topic) {
    problems.push({
      key: "topic",
      message: "A topic is required with subscription or push, because Gmail notifies it.",
    });
  }
  if (topic && !subscription && !push) {
    const message =
      "The topic has no effect without subscription or push: Gmail is asked once a minute. Set one of them, or remove the topic.";
    problems.push({ key: "topic", message, level: "warning" });
  }
  return problems;
}

/** Problems of URLs that credentials are sent to, or whose answers are trusted, by their keys. */
function checkHttps(urls: Record<string, string | undefined>): OptionProblem[] {
  return Object.entries(urls)
    .filter(([, url]) => url !== undefined && !isSecure(url))
    .map(([key]) => ({ key, message: "The URL must begin with https:// unless it is on this machine." }));
}

function isSecure(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? {};
  return protocol === "https:" || (hostname !== undefined && isLoopback(hostname));
}
