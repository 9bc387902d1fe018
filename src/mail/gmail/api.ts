import type { gmail_v1 } from "@googleapis/gmail";
import type { OAuth2Client } from "google-auth-library";
import { setTimeout as sleep } from "node:timers/promises";
import type { MailError } from "../../errors.ts";
import { isRateLimit, readGoogleError, toMailError } from "./errors.ts";

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
