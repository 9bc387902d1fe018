import type { MailSettings } from "../../config/types.ts";
import { MailError, messageOf } from "../../errors.ts";
import type { Log } from "../../telemetry/log.ts";
import type { MailSource } from "../source.ts";
import type { MailStore } from "../store/store.ts";
import { createPatience, createPauses, insist, type LaneWaits } from "./backoff.ts";
import { type BatchOptions, createFilter, dealWithBatch } from "./batch.ts";
import { createLaneStatus, type FolderStatus, type MailState } from "./status.ts";

export interface LaneOptions extends Pick<
  BatchOptions,
  "folder" | "post" | "maxBodyBytes" | "inHand" | "cutOff" | "onMail"
> {
  source: MailSource;
  settings: MailSettings;
  store: MailStore;
  waits: LaneWaits;
  log: Log;
  /** Ends the lane: what waits stops waiting, a post under way is finished. */
  signal: AbortSignal;
  /** Told of each new state, and of each further try that failed. */
  onChange(status: FolderStatus): void;
}

export interface Lane {
  /** Resolves once the signal has aborted and all is put away. Never rejects. */
  run(): Promise<void>;
  status(): FolderStatus;
  /** Ends every wait: something has changed, it is worth a try now. */
  nudge(): void;
}

/** Follows one folder, each batch dealt with and written down before the next is asked for, and again after each failure. */
export function createLane(options: LaneOptions): Lane {
  const { folder, source, settings, store, waits, log, signal } = options;
  const status = createLaneStatus({ folder, log, changed: options.onChange });
  const pauses = createPauses(signal);
  const pickFilter = createFilter(settings.filter, source.addresses);
  const work: BatchOptions = {
    ...options,
    sourceName: source.name,
    status,
    pickFilter,
    pause,
    backoff: waits.passing,
  };
  const patience = createPatience(waits);
  return { run, status: status.read, nudge: pauses.nudge };

  async function run(): Promise<void> {
    try {
      await followAgainAndAgain();
    } catch (error) {
      // Whatever fails is tried again, so that all that comes here is the end.
      if (!signal.aborted) log.error("mail watch failed", { folder, reason: messageOf(error) });
    }
    status.enter("stopped");
  }

  async function followAgainAndAgain(): Promise<never> {
    for (;;) {
      const { error, reason, state } = toTrouble(await endOf(follow()));
      signal.throwIfAborted();
      const waitMs = patience.lost(state);
      status.enter(state, { error, reason, waitMs });
      await pause(waitMs);
    }
  }

  async function follow(): Promise<void> {
    const { startedAt, position, setAside } = await insist(() => store.lane(folder), work);
    status.begin({ setAside });
    const { batchSize, maxBytes, authservId, lookbackMs } = settings;
    const since = toWholeSeconds(startedAt - lookbackMs);
    const follows = { position, since, isKnown, batchSize, maxBytes, authservId, signal };
    for await (const batch of source.follow(folder, follows)) {
      patience.gave(batch.mails.length);
      await dealWithBatch(batch, work);
    }
  }

  /** One that it cannot tell of counts as new: before it is posted the store is asked again, until it answers. */
  function isKnown(id: string): boolean {
    try {
      return store.isKnown(id);
    } catch {
      return false;
    }
  }

  async function pause(ms: number): Promise<void> {
    await pauses.wait(ms);
    signal.throwIfAborted();
  }
}

/** Mailboxes do not say more of when a mail came: of what comes in the second of the start nothing is left out. */
function toWholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

/** Why a source gives no more; one that just ends has lost its connection. */
async function endOf(followed: Promise<void>): Promise<unknown> {
  return followed.then(
    () => new MailError("network", "the mailbox's server ended the connection"),
    (error: unknown) => error,
  );
}

/** What a source's error means for its folder. */
interface SourceTrouble {
  state: Extract<MailState, "network" | "login-refused" | "tls-failed" | "mailbox-gone">;
  /** For the operator. */
  error: string;
  /** For the log: of an error that no source is known to word, its name alone. It may quote a mail. */
  reason: string;
}

const STATES = {
  network: "network",
  login: "login-refused",
  tls: "tls-failed",
  gone: "mailbox-gone",
} as const;

/** An error that is none of a source's counts as the network's: the next try may go well. */
function toTrouble(error: unknown): SourceTrouble {
  const message = messageOf(error);
  if (error instanceof MailError) return { state: STATES[error.kind], error: message, reason: message };
  return { state: "network", error: message, reason: error instanceof Error ? error.name : "unknown" };
}
