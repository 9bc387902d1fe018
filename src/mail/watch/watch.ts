import type { FolderStatus, MailState, MailStatus } from "../../core/ports/mail-status.ts";
import type { MailSettings } from "../../core/config/resolved-config.ts";
import { MailError, messageOf } from "../../core/errors.ts";
import { type Backoff, backoffMs, createWakeUp, settlesWithin, HOUR_MS } from "../../core/shared/time.ts";
import type { MailSource } from "../../core/ports/mail-source.ts";
import type { MailStore } from "../store.ts";
import { type BatchContext, createFilter, createInFlight, processBatch, retryStore } from "./batch.ts";
import { createStatusTracker, needsOperator, type StatusTracker, toMailStatus } from "./status.ts";

export interface MailWatchOptions
  extends Pick<BatchContext, "post" | "maxBodyBytes" | "log">, Partial<Pick<BatchContext, "onMail">> {
  source: MailSource;
  settings: MailSettings;
  /** undefined: another process has the mailbox. Called again until it works; the watch closes the store. */
  openStore(): Promise<MailStore | undefined>;
  /** Default: 1 s to 2 min, and 5 min to 1 h for problems that an operator must fix. */
  backoff?: ReconnectLimits;
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
  operator: { firstMs: 300_000, maxMs: HOUR_MS },
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
  const acquire = createInFlight(signal);
  const trackers = source.folders.map((folder) =>
    createStatusTracker({ mailbox: settings.name, folder, log, onChange }),
  );
  let store: MailStore | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let closing: Promise<void> | undefined;

  return {
    start() {
      running = waitForMailboxLock().then(() => Promise.all(trackers.map(runFolder)));
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
    if (store) {
      const { folder } = status.read();
      await watchFolder({
        ...options,
        folder,
        store,
        status,
        pause,
        acquire,
        signal,
        onMail,
        postSignal: aborting.signal,
        findFilter: createFilter(settings.filter, source.addresses),
        reconnect: backoff,
        backoff: backoff.transient,
      });
    }
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
    try {
      await store?.close();
    } catch (error) {
      log.warn("mail store not closed", { mailbox: settings.name, reason: messageOf(error) });
    }
  }
}

interface FolderContext extends BatchContext {
  source: MailSource;
  settings: MailSettings;
  reconnect: ReconnectLimits;
}

/**
 * Follows one folder until the signal aborts: each batch is processed and stored before the next is requested; reconnects
 * after each failure. Never rejects.
 */
async function watchFolder(context: FolderContext): Promise<void> {
  const { folder, status, pause, reconnect, log, signal } = context;
  const backoff = createReconnectBackoff(reconnect);
  try {
    for (;;) {
      const end = await follow(context, backoff).catch((error: unknown) => error);
      signal.throwIfAborted();
      const { state, error, reason } = classifyError(end);
      const waitMs = backoff.lost(state, { isUnknown: reason !== undefined });
      if (state === "network" && backoff.isStuck()) {
        const stuck = `the folder ${folder} stands still: its next mails cannot be read (${error})`;
        status.enter("stuck", { error: stuck, reason: reason ?? error, waitMs });
      } else status.enter(state, { error, reason, waitMs });
      await pause(waitMs);
    }
  } catch (error) {
    // Every other failure is retried, so only the end of the watch gets here.
    if (!signal.aborted) log.error("mail watch failed", { folder, reason: messageOf(error) });
  }
}

/** Rejects with the source's error, or resolves to one if the source just ends. */
async function follow(context: FolderContext, backoff: ReconnectBackoff): Promise<MailError> {
  const { folder, source, settings, store, status, signal } = context;
  const { startedAt, position, setAside } = await retryStore(() => store.folder(folder), context);
  status.restore({ setAside });
  const { batchSize, maxBytes, authservId, lookbackMs } = settings;
  // Mailboxes give the arrival time in whole seconds: include all mails of the first second.
  const since = lookbackMs > 0 ? Math.floor((startedAt - lookbackMs) / 1000) * 1000 : undefined;
  // If the store fails, the mails count as new: `processBatch` asks the store again before it posts.
  const findKnown = (ids: string[]): Promise<Set<string>> => store.findKnown(ids).catch(() => new Set());
  const { refreshTokens } = store;
  const wanted = { position, since, findKnown, batchSize, maxBytes, authservId, refreshTokens, signal };
  const batches = source.follow(folder, wanted);
  for await (const batch of batches) {
    backoff.received(batch.mails.length, batch.remaining);
    await processBatch(batch, context);
    backoff.processed(batch.mails.length);
  }
  return new MailError("network", "the mailbox's server ended the connection");
}

const STATES = {
  network: "network",
  login: "login-refused",
  tls: "tls-failed",
  gone: "mailbox-gone",
} as const;

/** An unknown error counts as a network failure, since the next attempt may succeed. Its message may quote a mail: the log gets its name. */
function classifyError(error: unknown): { state: MailState; error: string; reason?: string } {
  if (error instanceof MailError) return { state: STATES[error.kind], error: error.message };
  return { state: "network", error: messageOf(error), reason: error instanceof Error ? error.name : "unknown" };
}

export interface ReconnectLimits {
  /** After a failure that may end by itself. */
  transient: Backoff;
  /** After a failure that an operator must fix: more attempts could lock the account. */
  operator: Backoff;
}

/** How long to wait before the next connection, by what the earlier connections achieved. */
export interface ReconnectBackoff {
  /** Called for each batch: a connection is open and gave this many mails, possibly none, while others wait. */
  received(mails: number, remaining: number): void;
  /** Called once they are processed. */
  processed(mails: number): void;
  /**
   * The connection was lost or could not be opened. Returns the wait before the next one, in milliseconds. `isUnknown`: the
   * source failed in a way that it does not know.
   */
  lost(state: MailState, failure?: { isUnknown?: boolean }): number;
  /** Whether mails wait, and connection after connection brings none. */
  isStuck(): boolean;
}

/**
 * The longest wait after a connection that was open: on an unstable line mails must not arrive late, and a server that accepts
 * connections only to drop them is still not asked every second.
 */
const MAX_AFTER_OPEN_MS = 10_000;
/** More connections than a source needs to get past a mail that ends each of them. */
const MAX_WITHOUT_MAIL = 6;
/** A connection that lasted this long was a good one. */
const STABLE_MS = 60_000;

/** `now`: milliseconds of a monotonic clock. */
export function createReconnectBackoff(
  { transient, operator }: ReconnectLimits,
  now = () => performance.now(),
): ReconnectBackoff {
  const afterOpen = { ...transient, maxMs: Math.min(transient.maxMs, MAX_AFTER_OPEN_MS) };
  /** Failures in a row: connections that could not be opened, open ones that were lost, and problems for an operator. */
  let unreachable = 0;
  let dropped = 0;
  let refused = 0;
  /** Connections in a row that brought none of the mails that wait. */
  let withoutMail = 0;
  let isWaiting = false;
  let openSince: number | undefined;
  return {
    received(mails, remaining) {
      openSince ??= now();
      unreachable = 0;
      refused = 0;
      isWaiting = mails + remaining > 0;
    },
    processed(mails) {
      if (mails > 0) dropped = 0;
      if (mails > 0 || !isWaiting) withoutMail = 0;
    },
    isStuck: () => withoutMail >= MAX_WITHOUT_MAIL,
    lost(state, { isUnknown = false } = {}) {
      const wasOpenSince = openSince;
      openSince = undefined;
      if (isUnknown || (wasOpenSince !== undefined && isWaiting)) withoutMail += 1;
      if (needsOperator(state)) return backoffMs((refused += 1), operator);
      if (wasOpenSince === undefined) return backoffMs((unreachable += 1), transient);
      if (now() - wasOpenSince >= STABLE_MS) dropped = 0;
      return backoffMs((dropped += 1), afterOpen);
    },
  };
}
