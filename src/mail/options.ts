import type { FromSchema } from "json-schema-to-ts";
import type { OptionProblem } from "../core/ports/driver.ts";
import { GOOGLE_TOKEN } from "../core/shared/net/google-token.ts";
import { listFound } from "../core/shared/found.ts";
import { HTTP_URL, objectSchema } from "../core/shared/json.ts";
import { isLoopback } from "../core/shared/net/network.ts";

const TEXT = { type: "string", minLength: 1 } as const;

/** Access by OAuth 2 with a refresh token. */
const oauthSchema = objectSchema(["clientId", "refreshToken"], {
  tokenUrl: { ...HTTP_URL, description: "Where access tokens come from." },
  clientId: { ...TEXT, description: "The client's id." },
  clientSecret: { ...TEXT, description: "The client's secret, if it has one, as ${ENV} or ${file:PATH}." },
  refreshToken: { ...TEXT, description: "A reference: ${ENV} or ${file:PATH}." },
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
    password: { ...TEXT, description: "A reference: ${ENV} or ${file:PATH}. Set either this or oauth." },
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
  const clear =
    '"none" would send the password in clear text: it is for this machine only. Use "implicit" or "starttls".';
  return listFound<OptionProblem>(
    checkHttps({ "oauth.tokenUrl": oauth?.tokenUrl }),
    !password && !oauth && { key: "password", message: "A password is required, or oauth instead." },
    password && oauth && { key: "oauth", message: "Set either password or oauth, not both." },
    oauth &&
      !oauth.tokenUrl && {
        key: "oauth.tokenUrl",
        message: "The URL for access tokens is required for an IMAP mailbox.",
      },
    tls === "none" && !isLoopback(host) && { key: "tls", message: clear },
  );
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
      description: "Pub/Sub posts to /mail/push of this service instead, with a signed token.",
      ...objectSchema(["audience", "serviceAccount"], GOOGLE_TOKEN),
    },
    apiUrl: { ...HTTP_URL, description: "Where Gmail's API is, for tests. Default: Google's own." },
    pubsubUrl: { ...HTTP_URL, description: "Where Pub/Sub is, for tests and its emulator. Default: Google's own." },
  }),
} as const;

export type GmailOptions = FromSchema<typeof gmailSchema>;

export function checkGmail(options: GmailOptions): OptionProblem[] {
  const { user, oauth, topic, subscription, push, apiUrl, pubsubUrl } = options;
  const isNotified = subscription || push;
  const unused =
    "The topic has no effect without subscription or push: Gmail is asked once a minute. Set one of them, or remove the topic.";
  return listFound<OptionProblem>(
    checkHttps({ apiUrl, pubsubUrl, "oauth.tokenUrl": oauth.tokenUrl, "push.keysUrl": push?.keysUrl }),
    !user.includes("@") && { key: "user", message: "The user must be the mailbox's address." },
    subscription && push && { key: "push", message: "Set either subscription or push, not both." },
    isNotified &&
      !topic && { key: "topic", message: "A topic is required with subscription or push, because Gmail notifies it." },
    topic && !isNotified && { key: "topic", message: unused, level: "warning" },
  );
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
