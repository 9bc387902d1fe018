import type { gmail_v1 } from "@googleapis/gmail";
import type { OAuth2Client } from "google-auth-library";
import { setTimeout as sleep } from "node:timers/promises";
import { MailError, messageOf } from "../../errors.ts";
import { isObject, toObject } from "../../shared/json.ts";
import { cleanLine } from "../message/text.ts";

/** The requests of Gmail's API that reading a mailbox needs. Each rejects with a `MailError`. */
export interface GmailApi {
  profile(signal: AbortSignal): Promise<gmail_v1.Schema$Profile>;
  labels(signal: AbortSignal): Promise<gmail_v1.Schema$Label[]>;
  /** The addresses that the user sends from. Empty if the consent does not include them. */
  ownAddresses(signal: AbortSignal): Promise<string[]>;
  /** Makes Gmail announce changes on a topic, for some days. */
  watch(topicName: string, signal: AbortSignal): Promise<gmail_v1.Schema$WatchResponse>;
  /** One page of what was added since a record. Undefined if Gmail no longer knows the record. */
  history(from: Page<"startHistoryId">, signal: AbortSignal): Promise<gmail_v1.Schema$ListHistoryResponse | undefined>;
  /** One page of the mails that a search finds, newest first, with spam and trash. */
  search(query: Page<"q">, signal: AbortSignal): Promise<gmail_v1.Schema$ListMessagesResponse>;
  /** Undefined if the mail was deleted. */
  message(id: string, form: MessageForm, signal: AbortSignal): Promise<gmail_v1.Schema$Message | undefined>;
}

type Page<Key extends string> = Record<Key, string> & { pageToken: string | undefined };

const FORMS = {
  /** Only the headers that identify it. */
  metadata: { format: "metadata", metadataHeaders: ["Message-ID", "Message-Id", "From", "Date", "Subject"] },
  headers: { format: "metadata" },
  /** The mail as it was sent. */
  raw: { format: "raw" },
  /** Parsed, without attachments. */
  full: { format: "full" },
};

export type MessageForm = keyof typeof FORMS;

const ME = { userId: "me" };
const PAGE_SIZE = 500;
const TIMEOUT_MS = 30_000;
/** Waits after a rate limit: together longer than the minute that quotas are counted by. */
const RATE_LIMIT_WAITS_MS = [1000, 3000, 9000, 20_000, 40_000];

/** `rootUrl`: where the API is, instead of Google's. */
export async function createGmailApi(auth: OAuth2Client, rootUrl: string | undefined): Promise<GmailApi> {
  // Slow to load, so only when it is needed.
  const { gmail } = await import("@googleapis/gmail");
  const { users } = gmail({ version: "v1", auth, ...(rootUrl && { rootUrl }) });
  return {
    profile: (signal) => request("open the mailbox", signal, () => users.getProfile(ME, { signal })),

    async labels(signal) {
      return (await request("list the labels", signal, () => users.labels.list(ME, { signal }))).labels ?? [];
    },

    async ownAddresses(signal) {
      const list = () => users.settings.sendAs.list(ME, { signal });
      const answer = await request("list the user's addresses", signal, list).catch((error: MailError) => {
        if (error.kind !== "login") throw error;
      });
      return (answer?.sendAs ?? []).flatMap(({ sendAsEmail }) => sendAsEmail ?? []);
    },

    watch: (topicName, signal) =>
      request("announce changes", signal, () => users.watch({ ...ME, requestBody: { topicName } }, { signal })),

    history(from, signal) {
      const query = { ...ME, ...from, maxResults: PAGE_SIZE, historyTypes: ["messageAdded", "labelAdded"] };
      return unlessGone(request("read the history", signal, () => users.history.list(query, { signal })));
    },

    search(query, signal) {
      const all = { ...ME, ...query, maxResults: PAGE_SIZE, includeSpamTrash: true };
      return request("list the mails", signal, () => users.messages.list(all, { signal }));
    },

    message: (id, form, signal) =>
      unlessGone(request("read a mail", signal, () => users.messages.get({ ...ME, id, ...FORMS[form] }, { signal }))),
  };
}

/** The library retries network errors and server errors within seconds, but a rate limit takes longer. */
async function request<Answer>(
  doing: string,
  signal: AbortSignal,
  send: () => Promise<{ data: Answer }>,
): Promise<Answer> {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await send()).data;
    } catch (error) {
      const waitMs = RATE_LIMIT_WAITS_MS[attempt];
      if (waitMs === undefined || !isRateLimit(readGoogleError(error))) throw toMailError(error, doing);
      await sleep(waitMs, undefined, { signal });
    }
  }
}

async function unlessGone<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  return answer.catch((error: Error) => {
    if (readGoogleError(error.cause).status === 404) return undefined;
    throw error;
  });
}

export interface OAuthClientOptions {
  clientId?: string;
  clientSecret?: string;
  refreshToken?: string;
  redirectUri?: string;
  /** Instead of Google's own addresses. */
  tokenUrl?: string;
  authUrl?: string;
}

/** Google's OAuth client: gets access tokens as they are needed. */
export async function createOAuthClient(options: OAuthClientOptions): Promise<OAuth2Client> {
  // Slow to load, so only when it is needed.
  const google = await import("google-auth-library");
  const { clientId, clientSecret, redirectUri, refreshToken, tokenUrl, authUrl } = options;
  const client = new google.OAuth2Client({
    clientId,
    clientSecret,
    redirectUri,
    // An access token can be revoked before its end: the library then gets a new one, once.
    forceRefreshOnFailure: true,
    transporterOptions: {
      timeout: TIMEOUT_MS,
      // The library's own fetch throws an uncaught error when a POST is aborted before it is sent.
      fetchImplementation: fetch,
    },
    endpoints: {
      ...(tokenUrl && { oauth2TokenUrl: tokenUrl }),
      ...(authUrl && { oauth2AuthBaseUrl: authUrl }),
    },
  });
  if (refreshToken) client.setCredentials({ refresh_token: refreshToken });
  return client;
}

export interface GoogleError {
  /** Undefined if there was no answer. */
  status: number | undefined;
  /** `rateLimitExceeded`, `invalid_grant`, `NOT_FOUND` … */
  reasons: unknown[];
  message: string;
}

const MAX_CHARACTERS = 300;

/** Google answers both 403 and 429. */
const RATE_LIMITS = new Set<unknown>([
  "rateLimitExceeded",
  "userRateLimitExceeded",
  "quotaExceeded",
  "dailyLimitExceeded",
  "RATE_LIMIT_EXCEEDED",
  "RESOURCE_EXHAUSTED",
]);
const OAUTH_REFUSALS = new Set<unknown>(["invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"]);

/** The next step after a refusal, by reason. */
const ADVICE = new Map<unknown, string>([
  ["invalid_grant", "The refresh token has ended or was revoked: run `webhooks mail setup` again."],
  ["invalid_client", "Check hooks.mail.source.oauth.clientId and clientSecret."],
  ["unauthorized_client", "The refresh token belongs to another client: run `webhooks mail setup` again."],
  ["accessNotConfigured", "Enable the Gmail API in the client's Google Cloud project."],
  ["SERVICE_DISABLED", "Enable the named API in the client's Google Cloud project."],
  ["insufficientPermissions", "The consent does not include it: run `webhooks mail setup` again."],
  ["ACCESS_TOKEN_SCOPE_INSUFFICIENT", "The consent does not include it: run `webhooks mail setup` again."],
]);

/** Converts an error of a request to Google. `doing`: what the request was for, such as `read the history`. */
export function toMailError(thrown: unknown, doing: string): MailError {
  if (thrown instanceof MailError) return thrown;
  const error = readGoogleError(thrown);
  const advice = error.reasons.map((reason) => ADVICE.get(reason)).find(Boolean);
  const sentence = `Google: cannot ${doing}: ${error.message.replace(/[^.!?]$/, "$&.")}`;
  return new MailError(toKind(error), [sentence, advice].filter(Boolean).join(" "), { cause: thrown });
}

function isRateLimit({ status, reasons }: GoogleError): boolean {
  return status === 429 || (status === 403 && reasons.some((reason) => RATE_LIMITS.has(reason)));
}

function toKind(error: GoogleError): MailError["kind"] {
  const { status, reasons } = error;
  if (isRateLimit(error)) return "network";
  if (status === 401 || status === 403 || reasons.some((reason) => OAUTH_REFUSALS.has(reason))) return "login";
  // failedPrecondition: the account's mail service is off.
  return status === 404 || reasons.includes("failedPrecondition") ? "gone" : "network";
}

/**
 * Reads an error of Google's libraries. An API answers `{ error: { message, status, errors: [{ reason }], details: [{ reason }] } }`,
 * the token endpoint `{ error, error_description }`.
 */
export function readGoogleError(thrown: unknown): GoogleError {
  const response = toObject(isObject(thrown) ? thrown.response : undefined);
  const data = toObject(response.data);
  const status = typeof response.status === "number" ? response.status : undefined;
  if (!isObject(data.error)) {
    const message = toLine(data.error_description ?? data.error ?? describeFailure(thrown));
    return { status, reasons: [data.error], message };
  }
  const { message, status: name, errors, details } = data.error;
  const reasons = [errors, details].flat().map((entry) => (isObject(entry) ? entry.reason : undefined));
  return { status, reasons: [name, ...reasons], message: toLine(message) };
}

function toLine(message: unknown): string {
  return cleanLine(typeof message === "string" ? message : "no reason given", MAX_CHARACTERS);
}

/** `fetch failed (ECONNREFUSED)`: the system's code is in the innermost cause. */
function describeFailure(thrown: unknown): string {
  let code: string | undefined;
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    if ("code" in error && /^E[A-Z_]+$/.test(String(error.code))) code = String(error.code);
  }
  return code ? `${messageOf(thrown)} (${code})` : messageOf(thrown);
}
