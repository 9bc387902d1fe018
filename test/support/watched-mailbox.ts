import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { resolveUserConfig } from "../../src/core/config/load.ts";
import { type MailStore, openMailStore } from "../../src/mail/store.ts";
import { createMailWatch, type MailWatch, type MailWatchOptions } from "../../src/mail/watch/watch.ts";
import type { HookResponse } from "../../src/mail/watch/deliver.ts";
import type { FolderStatus } from "../../src/core/ports/mail-status.ts";
import { silentLog } from "../../src/core/telemetry/log.ts";
import { createMailbox, type Mailbox } from "./mailbox.ts";

export interface Posted {
  source: string;
  messages: { id: string; from: string; body: string; truncated: boolean }[];
}

interface WatchStart extends Partial<Pick<MailWatchOptions, "backoff" | "log">> {
  /** The response to a request with these mails. Default: accept all. */
  hook?(ids: string[], body: Posted): Partial<HookResponse> | Promise<Partial<HookResponse>>;
  maxBodyBytes?: number;
  /** Default: 0. */
  lookbackMs?: number;
  store?: MailStore;
}

/** A mailbox in memory, watched with a real store in a temporary folder, and a hook that records its requests. */
export interface WatchedMailbox extends Mailbox {
  /** The ids of the mails of each request, in order, and of those that were accepted. */
  requests: string[][];
  taken: string[];
  changes: FolderStatus[];
  /** Adds a mail for each id. */
  addAll(ids: string[]): void;
  start(options?: WatchStart): void;
  openStore(): Promise<MailStore>;
  watch(): MailWatch;
  /** The status of the first folder. */
  status(): FolderStatus;
  close(): Promise<void>;
}

export const FOREVER = { firstMs: 600_000, maxMs: 600_000 };
export const AT_ONCE = { firstMs: 1, maxMs: 5 };

const OK: HookResponse = {
  status: 202,
  code: "",
  error: "",
  eventId: "e",
  skipped: false,
  repeated: 0,
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
    start({ hook = () => ({}), maxBodyBytes = 262_144, lookbackMs = 0, store, ...options } = {}) {
      watch = createMailWatch({
        source: mailbox.source,
        settings: { ...resolveUserConfig({}, { baseDir: "/" }).hooks.mail[0], lookbackMs },
        openStore: async () => store ?? openStore(),
        maxBodyBytes: () => maxBodyBytes,
        log: silentLog,
        backoff: { transient: AT_ONCE, operator: AT_ONCE },
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

  async function note(body: Posted, hook: NonNullable<WatchStart["hook"]>): Promise<HookResponse> {
    const ids = body.messages.map(({ id }) => id);
    requests.push(ids);
    const answer = { ...OK, ...(await hook(ids, body)) };
    if (answer.status >= 200 && answer.status < 300) taken.push(...ids);
    return answer;
  }

  async function openStore(): Promise<MailStore> {
    const store = await openMailStore({ folder, mailbox: mailbox.source.mailbox });
    if (!store) throw new Error("The mailbox is locked.");
    return store;
  }

  function requireWatch(): MailWatch {
    if (!watch) throw new Error("The watch has not started.");
    return watch;
  }
}

/** `1` … */
export function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1));
}
