import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DEFAULTS } from "../../src/config/resolve.ts";
import { openMailStore } from "../../src/mail/store/sqlite.ts";
import type { MailStore } from "../../src/mail/store/store.ts";
import { createMailWatch, type MailWatch, type MailWatchOptions } from "../../src/mail/watch/watch.ts";
import type { MailAnswer } from "../../src/mail/watch/post.ts";
import type { FolderStatus } from "../../src/mail/watch/status.ts";
import { silentLog } from "../../src/telemetry/log.ts";
import { createMailbox, type Mailbox } from "./mailbox.ts";

export interface Posted {
  source: string;
  messages: { id: string; from: string; body: string; truncated: boolean }[];
}

interface WatchStart extends Partial<Pick<MailWatchOptions, "waits" | "log" | "store">> {
  /** What the hook answers to the mails of a request; by default it takes them. */
  hook?(ids: string[], body: Posted): Partial<MailAnswer> | Promise<Partial<MailAnswer>>;
  maxBodyBytes?: number;
}

/** A mailbox in memory, watched with a real store in a temporary folder, and a hook that notes what it is given. */
export interface WatchedMailbox extends Mailbox {
  /** Ids of the mails of each request, in their order, and of those that were taken. */
  requests: string[][];
  taken: string[];
  changes: FolderStatus[];
  /** Puts a mail for each id behind the others. */
  addAll(ids: string[]): void;
  start(options?: WatchStart): void;
  openStore(): MailStore;
  watch(): MailWatch;
  /** Of the first folder. */
  status(): FolderStatus;
  close(): Promise<void>;
}

export const FOREVER = { firstMs: 600_000, mostMs: 600_000 };
export const AT_ONCE = { firstMs: 1, mostMs: 5 };

const OK: MailAnswer = {
  status: 202,
  code: "",
  error: "",
  eventId: "e",
  hookExists: true,
  retryAfterMs: undefined,
};

export function createWatchedMailbox(folders?: string[]): WatchedMailbox {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-"));
  const mailbox = createMailbox({ folders });
  const requests: string[][] = [];
  const taken: string[] = [];
  const changes: FolderStatus[] = [];
  let watch: MailWatch | undefined;

  return {
    ...mailbox,
    requests,
    taken,
    changes,
    addAll: (ids) => ids.forEach((id) => mailbox.add({ id })),
    openStore,
    start({ hook = () => ({}), maxBodyBytes = 262_144, store = openStore(), ...options } = {}) {
      watch = createMailWatch({
        source: mailbox.source,
        settings: { ...DEFAULTS.hooks.mail, lookbackMs: 0 },
        store,
        maxBodyBytes: () => maxBodyBytes,
        log: silentLog,
        waits: { passing: AT_ONCE, lasting: AT_ONCE },
        onChange: (change) => changes.push(change),
        post: (text) => note(JSON.parse(text), hook),
        ...options,
      });
      watch.start();
    },
    watch: requireWatch,
    status: () => requireWatch().status().folders[0] as FolderStatus,
    async close() {
      await watch?.close();
      rmSync(folder, { recursive: true });
    },
  };

  async function note(body: Posted, hook: NonNullable<WatchStart["hook"]>): Promise<MailAnswer> {
    const ids = body.messages.map(({ id }) => id);
    requests.push(ids);
    const answer = { ...OK, ...(await hook(ids, body)) };
    if (answer.status >= 200 && answer.status < 300) taken.push(...ids);
    return answer;
  }

  function openStore(): MailStore {
    const store = openMailStore({ folder, mailbox: mailbox.source.mailbox });
    if (!store) throw new Error("The mailbox is taken.");
    return store;
  }

  function requireWatch(): MailWatch {
    if (!watch) throw new Error("The watch has not begun.");
    return watch;
  }
}

/** `1` … */
export function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}
