import { setTimeout as sleep } from "node:timers/promises";
import type { MailSettings } from "../../config/types.ts";
import type { Log } from "../../telemetry/log.ts";
import type { MailSource } from "../source.ts";
import type { MailStore } from "../store/store.ts";
import type { LaneWaits } from "./backoff.ts";
import { createInHand } from "./batch.ts";
import type { Dealt } from "./deliver.ts";
import { createLane } from "./folder.ts";
import type { PostMails } from "./post.ts";
import { type FolderStatus, type MailStatus, toMailStatus } from "./status.ts";

export interface MailWatchOptions {
  source: MailSource;
  settings: MailSettings;
  /** The watch closes it at its end. */
  store: MailStore;
  post: PostMails;
  /** Most bytes that the service takes at once. */
  maxBodyBytes(): number;
  log: Log;
  /** Default: 1 s to 2 min, and 5 min to an hour where an operator must mend it. */
  waits?: LaneWaits;
  /** Told of each mail once what became of it is written down. */
  onMail?(dealt: Dealt, status: FolderStatus): void;
  /** Told of each new state of a folder, and of each further try that failed. */
  onChange?(status: FolderStatus): void;
}

export interface MailWatch {
  /** Follows all folders of the source, side by side, until it is closed. */
  start(): void;
  status(): MailStatus;
  /** Tries again at once whatever waits for its next try: something has changed. */
  nudge(): void;
  /** Finishes a post under way and closes the store. Never rejects. */
  close(): Promise<void>;
}

const WAITS: LaneWaits = {
  passing: { firstMs: 1000, mostMs: 120_000 },
  lasting: { firstMs: 300_000, mostMs: 3_600_000 },
};

/** How long a post under way may take to end, in milliseconds, and then what is left of the lanes. */
const FINISH_MS = 10_000;
const LET_GO_MS = 2000;

/** Brings what a mailbox holds and gets to the hook: none lost, none twice. */
export function createMailWatch(options: MailWatchOptions): MailWatch {
  const { source, waits = WAITS, onMail = () => {}, onChange = () => {} } = options;
  const stopping = new AbortController();
  const cutting = new AbortController();
  const { signal } = stopping;
  const shared = { waits, inHand: createInHand(signal), signal, cutOff: cutting.signal, onMail, onChange };
  const lanes = source.folders.map((folder) => createLane({ ...options, ...shared, folder }));
  let running: Promise<unknown> = Promise.resolve();
  let closing: Promise<void> | undefined;

  return {
    start() {
      running = Promise.all(lanes.map((lane) => lane.run()));
    },
    status: () =>
      toMailStatus(
        source,
        lanes.map((lane) => lane.status()),
      ),
    nudge: () => lanes.forEach((lane) => lane.nudge()),
    close() {
      closing ??= end();
      return closing;
    },
  };

  async function end(): Promise<void> {
    stopping.abort();
    if (!(await endsWithin(running, FINISH_MS))) {
      cutting.abort();
      await endsWithin(running, LET_GO_MS);
    }
    options.store.close();
  }
}

async function endsWithin(running: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const ended = running.then(() => true);
  const late = sleep(ms, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([ended, late]);
  } finally {
    timer.abort();
  }
}
