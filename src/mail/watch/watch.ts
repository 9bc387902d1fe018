import type { MailSettings } from "../../config/types.ts";
import { messageOf } from "../../errors.ts";
import { createWakeUp, settlesWithin } from "../../shared/async.ts";
import type { Log } from "../../telemetry/log.ts";
import type { MailSource } from "../source.ts";
import type { MailStore } from "../store.ts";
import type { ReconnectLimits } from "./backoff.ts";
import { createInFlight } from "./batch.ts";
import type { ProcessedMail } from "./deliver.ts";
import { watchFolder } from "./folder-watcher.ts";
import type { PostMails } from "./post.ts";
import {
  createStatusTracker,
  type FolderStatus,
  type MailState,
  type MailStatus,
  type StatusTracker,
  toMailStatus,
} from "./status.ts";

export interface MailWatchOptions {
  source: MailSource;
  settings: MailSettings;
  /** undefined: another process has the mailbox. Called again until it works; the watch closes the store. */
  openStore(): Promise<MailStore | undefined>;
  post: PostMails;
  /** The largest request body that the service accepts. */
  maxBodyBytes(): number;
  log: Log;
  /** Default: 1 s to 2 min, and 5 min to 1 h for problems that an operator must fix. */
  backoff?: ReconnectLimits;
  /** Called for each mail after its result is stored. */
  onMail?(mail: ProcessedMail, status: FolderStatus): void;
  /** Called with each new state of a folder, and after each further failed attempt. */
  onChange?(status: FolderStatus): void;
}

export interface MailWatch {
  /** Follows all folders of the source in parallel until the watch is closed. */
  start(): void;
  status(): MailStatus;
  /** Retries at once whatever waits for its next attempt, since something has changed. */
  nudge(): void;
  /** Finishes a request in flight and closes the store. Never rejects. */
  close(): Promise<void>;
}

const BACKOFF: ReconnectLimits = {
  transient: { firstMs: 1000, maxMs: 120_000 },
  operator: { firstMs: 300_000, maxMs: 3_600_000 },
};

/** How often to try again to open a locked or broken store. */
const LOCK_RETRY_MS = 1000;

/** How long a request in flight may take to finish at the end, and after that everything that was aborted. */
const FINISH_MS = 10_000;
const ABORT_MS = 2000;

/** Posts all present and future mails of a mailbox to the hook: none is lost, none is posted twice. */
export function createMailWatch(options: MailWatchOptions): MailWatch {
  const { source, settings, openStore, log, backoff = BACKOFF, onMail = () => {}, onChange = () => {} } = options;
  const stopping = new AbortController();
  const aborting = new AbortController();
  const { signal } = stopping;
  const wakeUp = createWakeUp();
  const inFlight = createInFlight(signal);
  const trackers = source.folders.map((folder) =>
    createStatusTracker({ mailbox: settings.name, folder, log, onChange }),
  );
  let store: MailStore | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let closing: Promise<void> | undefined;

  return {
    start() {
      running = run();
    },
    status() {
      const folders = trackers.map((tracker) => tracker.read());
      return toMailStatus(settings, source, folders);
    },
    nudge() {
      wakeUp.wake();
      wakeUp.reset();
    },
    close() {
      closing ??= stop();
      return closing;
    },
  };

  async function run(): Promise<void> {
    await waitForMailboxLock();
    await Promise.all(trackers.map((status) => runFolder(status)));
  }

  async function waitForMailboxLock(): Promise<void> {
    while (!store && !signal.aborted) {
      try {
        store = await openStore();
        if (!store) enterAll("locked", "another process watches this mailbox");
      } catch (error) {
        enterAll("store-failed", messageOf(error));
      }
      if (!store) await wakeUp.wait(LOCK_RETRY_MS, signal);
    }
  }

  function enterAll(state: MailState, error: string): void {
    for (const status of trackers) status.enter(state, { error, waitMs: LOCK_RETRY_MS });
  }

  async function runFolder(status: StatusTracker): Promise<void> {
    const { folder } = status.read();
    const context = { ...options, folder, status, pause, reconnect: backoff, inFlight, signal, onMail };
    if (store) await watchFolder({ ...context, store, postSignal: aborting.signal });
    status.enter("stopped");
  }

  async function pause(ms: number): Promise<void> {
    await wakeUp.wait(ms, signal);
    signal.throwIfAborted();
  }

  async function stop(): Promise<void> {
    stopping.abort();
    if (!(await settlesWithin(running, FINISH_MS))) {
      aborting.abort();
      await settlesWithin(running, ABORT_MS);
    }
    await store?.close();
  }
}
