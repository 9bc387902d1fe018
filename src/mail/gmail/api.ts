import type { gmail_v1 } from "@googleapis/gmail";
import type { CodeChallengeMethod, OAuth2Client } from "google-auth-library";
import { setTimeout as sleep } from "node:timers/promises";
import { isRateLimit, readGoogleError, toMailError } from "./errors.ts";

type Message = gmail_v1.Schema$Message;

/** The few requests of Gmail's API that a mailbox is read by. Each rejects with a `MailError`. */
export interface GmailApi {
  profile(signal: AbortSignal): Promise<gmail_v1.Schema$Profile>;
  labels(signal: AbortSignal): Promise<gmail_v1.Schema$Label[]>;
  /** Has the mailbox's changes announced on a topic, for some days. */
  watch(topicName: string, signal: AbortSignal): Promise<gmail_v1.Schema$WatchResponse>;
  /** A page of what was added since a record; undefined where Gmail no longer knows it. */
  history(
    from: { startHistoryId: string; pageToken: string | undefined },
    signal: AbortSignal,
  ): Promise<gmail_v1.Schema$ListHistoryResponse | undefined>;
  /** A page of the mails that a search finds, newest first, spam and trash among them. */
  search(
    query: { q: string; pageToken: string | undefined },
    signal: AbortSignal,
  ): Promise<gmail_v1.Schema$ListMessagesResponse>;
  /** A mail in one of its forms; undefined where there is none any more. */
  message(id: string, form: MessageForm, signal: AbortSignal): Promise<Message | undefined>;
}

/** metadata: without headers but its Message-ID · headers: all of them · raw: as it travelled · full: parsed, without attachments. */
export type MessageForm = "metadata" | "headers" | "raw" | "full";

export interface GmailApiOptions {
  auth: OAuth2Client;
  /** Where the API is. Default: Google's own. */
  rootUrl: string | undefined;
}

const ME = { userId: "me" };
const PAGE_SIZE = 500;

/** Waits before a request that asked too much is tried again, in milliseconds: in all more than the minute that quotas count by. */
const RATE_WAITS_MS = [1000, 3000, 9000, 20_000, 40_000];

/** Gmail's API for the mailbox of whoever gave the consent. */
export async function createGmailApi({ auth, rootUrl }: GmailApiOptions): Promise<GmailApi> {
  // Not before it is needed, as all that takes long to load.
  const { gmail } = await import("@googleapis/gmail");
  const { users } = gmail({ version: "v1", auth, ...(rootUrl && { rootUrl }) });
  return {
    profile: (signal) => ask("open the mailbox", signal, () => users.getProfile(ME, { signal })),

    async labels(signal) {
      const { labels } = await ask("list the labels", signal, () => users.labels.list(ME, { signal }));
      return labels ?? [];
    },

    watch: (topicName, signal) =>
      ask("have changes announced", signal, () => users.watch({ ...ME, requestBody: { topicName } }, { signal })),

    history: (from, signal) =>
      askUnlessGone("read the history", signal, () =>
        users.history.list(
          { ...ME, ...from, maxResults: PAGE_SIZE, historyTypes: ["messageAdded", "labelAdded"] },
          { signal },
        ),
      ),

    search: (query, signal) =>
      ask("list the mails", signal, () =>
        users.messages.list({ ...ME, ...query, maxResults: PAGE_SIZE, includeSpamTrash: true }, { signal }),
      ),

    message: (id, form, signal) =>
      askUnlessGone("read a mail", signal, () => users.messages.get({ ...ME, id, ...FORMS[form] }, { signal })),
  };
}

const FORMS = {
  metadata: { format: "metadata", metadataHeaders: ["Message-ID", "Message-Id"] },
  headers: { format: "metadata" },
  raw: { format: "raw" },
  full: { format: "full" },
} satisfies Record<MessageForm, object>;

async function askUnlessGone<Answer>(
  doing: string,
  signal: AbortSignal,
  request: () => Promise<{ data: Answer }>,
): Promise<Answer | undefined> {
  try {
    return await ask(doing, signal, request);
  } catch (error) {
    const { cause } = toMailError(error, doing);
    if (readGoogleError(cause).status === 404) return undefined;
    throw error;
  }
}

/** The library tries again what fails for a moment; those who ask too much have to wait for longer than that. */
async function ask<Answer>(
  doing: string,
  signal: AbortSignal,
  request: () => Promise<{ data: Answer }>,
  [waitMs, ...laterWaits] = RATE_WAITS_MS,
): Promise<Answer> {
  try {
    return (await request()).data;
  } catch (error) {
    if (waitMs === undefined || !isRateLimit(readGoogleError(error))) throw toMailError(error, doing);
  }
  await sleep(waitMs, undefined, { signal });
  return ask(doing, signal, request, laterWaits);
}

export interface OAuthClientOptions {
  clientId?: string;
  /** Absent for a client that has none. */
  clientSecret?: string;
  /** Access tokens are got by it as they are needed, once for all who wait. */
  refreshToken?: string;
  redirectUri?: string;
  /** Where Google's own addresses do not hold. */
  tokenUrl?: string;
  authUrl?: string;
  certsUrl?: string;
}

/** Longest time for an answer to any request that sets no other, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Google's OAuth: asks with access tokens, gets new ones, checks those that others bring. */
export async function createOAuthClient(options: OAuthClientOptions): Promise<OAuth2Client> {
  // Not before it is needed: Google's libraries take a while to load, and most services have no use for them.
  const google = await import("google-auth-library");
  const { clientId, clientSecret, redirectUri, refreshToken, ...urls } = options;
  const client = new google.OAuth2Client({
    clientId,
    clientSecret,
    redirectUri,
    // A token can be withdrawn before its time: a refusal is met once with a new one.
    forceRefreshOnFailure: true,
    transporterOptions: {
      timeout: TIMEOUT_MS,
      // The one that the library brings throws where nobody catches it when a post is aborted before it is sent.
      fetchImplementation: fetch,
    },
    endpoints: {
      ...(urls.tokenUrl && { oauth2TokenUrl: urls.tokenUrl }),
      ...(urls.authUrl && { oauth2AuthBaseUrl: urls.authUrl }),
      ...(urls.certsUrl && { oauth2FederatedSignonPemCertsUrl: urls.certsUrl }),
    },
  });
  if (refreshToken) client.setCredentials({ refresh_token: refreshToken });
  return client;
}

/** How Google is told that a code challenge is a SHA-256. */
export async function loadS256(): Promise<CodeChallengeMethod> {
  const { CodeChallengeMethod: methods } = await import("google-auth-library");
  return methods.S256;
}
