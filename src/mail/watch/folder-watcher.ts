import type { MailSettings } from "../../config/types.ts";
import { MailError, messageOf } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { MailSource } from "../source.ts";
import { createReconnectBackoff, type ReconnectBackoff, type ReconnectLimits, retryStore } from "./backoff.ts";
import { type BatchContext, createFilter, processBatch } from "./batch.ts";
import type { MailState } from "./status.ts";

export interface FolderWatcherOptions extends Omit<BatchContext, "sourceName" | "findFilter" | "backoff"> {
  source: MailSource;
  settings: MailSettings;
  reconnect: ReconnectLimits;
  log: Log;
}

/**
 * Follows one folder until the signal aborts: each batch is processed and stored before the next is requested; reconnects
 * after each failure. Never rejects.
 */
export async function watchFolder(options: FolderWatcherOptions): Promise<void> {
  const { folder, source, settings, status, pause, reconnect, log, signal } = options;
  const context: BatchContext = {
    ...options,
    sourceName: settings.name,
    findFilter: createFilter(settings.filter, source.addresses),
    backoff: reconnect.transient,
  };
  const backoff = createReconnectBackoff(reconnect);
  try {
    for (;;) {
      const end = await follow(options, context, backoff).catch((error: unknown) => error);
      signal.throwIfAborted();
      const { state, error, reason } = classifyError(end);
      const waitMs = backoff.lost(state);
      status.enter(state, { error, reason, waitMs });
      await pause(waitMs);
    }
  } catch (error) {
    // Every other failure is retried, so only the end of the watch gets here.
    if (!signal.aborted) log.error("mail watch failed", { folder, reason: messageOf(error) });
  }
}

/** Rejects with the source's error, or resolves to one if the source just ends. */
async function follow(
  { folder, source, settings, store, status, signal }: FolderWatcherOptions,
  context: BatchContext,
  backoff: ReconnectBackoff,
): Promise<MailError> {
  const { startedAt, position, setAside } = await retryStore(() => store.folder(folder), context);
  status.restore({ setAside });
  const { batchSize, maxBytes, authservId, lookbackMs } = settings;
  // Mailboxes give the arrival time in whole seconds: include all mails of the first second.
  const since = Math.floor((startedAt - lookbackMs) / 1000) * 1000;
  // If the store fails, the mails count as new: `processBatch` asks the store again before it posts.
  const findKnown = (ids: string[]): Promise<Set<string>> => store.findKnown(ids).catch(() => new Set());
  const limits = { since, batchSize, maxBytes, authservId };
  const { refreshTokens } = store;
  const batches = source.follow(folder, { position, findKnown, refreshTokens, ...limits, signal });
  for await (const batch of batches) {
    backoff.received(batch.mails.length);
    await processBatch(batch, context);
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
