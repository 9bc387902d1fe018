import type { gmail_v1 } from "@googleapis/gmail";
import type { OAuth2Client } from "google-auth-library";
import { setTimeout as sleep } from "node:timers/promises";
import { readGoogleError } from "./google-error.ts";
import { isRateLimit, toMailError } from "./to-mail-error.ts";

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
      ask("have changes announced", signal, () =>
        users.watch({ ...ME, requestBody: { topicName } }, { signal }),
      ),

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
      askUnlessGone("read a mail", signal, () =>
        users.messages.get({ ...ME, id, ...FORMS[form] }, { signal }),
      ),
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
