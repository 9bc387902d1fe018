import { setTimeout as sleep } from "node:timers/promises";
import type { MailError } from "../../core/errors.ts";
import { type CallGoogle, isRateLimit, readGoogleError, toMailError } from "./google.ts";

/** The requests of Gmail's API that reading a mailbox needs. Each rejects with a `MailError`. */
export interface GmailApi {
  profile(signal: AbortSignal): Promise<{ emailAddress?: string; historyId?: string }>;
  labels(signal: AbortSignal): Promise<{ id?: string; name?: string }[]>;
  /** The addresses that the user sends from. Empty if the consent does not include them. */
  ownAddresses(signal: AbortSignal): Promise<string[]>;
  /** Makes Gmail announce changes on a topic, until `expiration` (milliseconds since the epoch). */
  watch(topicName: string, signal: AbortSignal): Promise<{ expiration?: string }>;
  /** One page of what was added since a record. Undefined if Gmail no longer knows the record. */
  history(from: Page<"startHistoryId">, signal: AbortSignal): Promise<HistoryPage | undefined>;
  /** One page of the mails that a search finds, newest first, with spam and trash. */
  search(query: Page<"q">, signal: AbortSignal): Promise<{ messages?: { id?: string }[]; nextPageToken?: string }>;
  /** A large part of a mail, in base64url. Undefined if the mail was deleted. */
  attachment(id: string, attachmentId: string, signal: AbortSignal): Promise<{ data?: string } | undefined>;
  /** Undefined if the mail was deleted. */
  message(id: string, form: MessageForm, signal: AbortSignal): Promise<GmailMessage | undefined>;
}

type Page<Key extends string> = Record<Key, string> & { pageToken: string | undefined };

interface HistoryPage {
  history?: HistoryRecord[];
  historyId?: string;
  nextPageToken?: string;
}

/** The fields of Gmail's answers that are used, as its API describes them. */
interface HistoryRecord {
  id?: string;
  messagesAdded?: { message?: GmailMessage }[];
  labelsAdded?: { message?: GmailMessage; labelIds?: string[] }[];
}

interface GmailMessage {
  id?: string;
  threadId?: string;
  labelIds?: string[];
  /** Milliseconds since the epoch. */
  internalDate?: string;
  /** Bytes. */
  sizeEstimate?: number;
  /** The mail as it was sent, in base64url. */
  raw?: string;
  payload?: GmailPart;
}

export interface GmailPart {
  /** The same in each answer, unlike `attachmentId`. */
  partId?: string;
  mimeType?: string;
  filename?: string;
  headers?: GmailHeader[];
  /** `data` in base64url; instead of it, `attachmentId` for a large part. */
  body?: { size?: number; data?: string; attachmentId?: string };
  parts?: GmailPart[];
}

export interface GmailHeader {
  name?: string;
  value?: string;
}

const FORMS = {
  /** Labels, thread, time and size. */
  minimal: { format: "minimal" },
  headers: { format: "metadata" },
  /** The mail as it was sent. */
  raw: { format: "raw" },
  /** Parsed, without attachments. */
  full: { format: "full" },
};

export type MessageForm = keyof typeof FORMS;

const GMAIL = "https://gmail.googleapis.com";
const PAGE_SIZE = 500;
/** Waits after a rate limit: together longer than the minute that quotas are counted by. */
const RATE_LIMIT_WAITS_MS = [1000, 3000, 9000, 20_000, 40_000];

/** `rootUrl`: where the API is, instead of Google's. */
export function createGmailApi(call: CallGoogle, rootUrl: string = GMAIL): GmailApi {
  const get = <Answer>(doing: string, path: string, signal: AbortSignal, query = {}): Promise<Answer> =>
    request<Answer>(doing, path, { signal, query });
  return {
    profile: (signal) => get("open the mailbox", "profile", signal),

    async labels(signal) {
      type Answer = { labels?: { id?: string; name?: string }[] };
      return (await get<Answer>("list the labels", "labels", signal)).labels ?? [];
    },

    async ownAddresses(signal) {
      type Answer = { sendAs?: { sendAsEmail?: string }[] };
      const answer = await get<Answer>("list the user's addresses", "settings/sendAs", signal).catch(
        (error: MailError) => {
          if (error.kind !== "login") throw error;
        },
      );
      return (answer?.sendAs ?? []).flatMap(({ sendAsEmail }) => sendAsEmail ?? []);
    },

    watch: (topicName, signal) => request("announce changes", "watch", { signal, method: "POST", body: { topicName } }),

    history(from, signal) {
      const query = { ...from, maxResults: PAGE_SIZE, historyTypes: ["messageAdded", "labelAdded"] };
      return unlessGone(get("read the history", "history", signal, query));
    },

    search(query, signal) {
      const all = { ...query, maxResults: PAGE_SIZE, includeSpamTrash: true };
      return get("list the mails", "messages", signal, all);
    },

    attachment: (id, attachmentId, signal) =>
      unlessGone(
        get(
          "read a file",
          `messages/${encodeURIComponent(id)}/attachments/${encodeURIComponent(attachmentId)}`,
          signal,
        ),
      ),

    message: (id, form, signal) =>
      unlessGone(get("read a mail", `messages/${encodeURIComponent(id)}`, signal, FORMS[form])),
  };

  /** A rate limit takes longer than the failures after which a call is repeated. */
  async function request<Answer>(doing: string, path: string, options: Parameters<CallGoogle>[1]): Promise<Answer> {
    for (let attempt = 0; ; attempt++) {
      try {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Every field is optional, as Gmail's API describes it.
        return (await call(new URL(`/gmail/v1/users/me/${path}`, rootUrl), options)) as Answer;
      } catch (error) {
        const waitMs = RATE_LIMIT_WAITS_MS[attempt];
        if (waitMs === undefined || !isRateLimit(readGoogleError(error))) throw toMailError(error, doing);
        await sleep(waitMs, undefined, { signal: options.signal });
      }
    }
  }
}

async function unlessGone<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  return answer.catch((error: Error) => {
    if (readGoogleError(error.cause).status === 404) return undefined;
    throw error;
  });
}
