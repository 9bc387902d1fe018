import type { FolderStatus, MailState, MailStatus } from "../../core/ports/mail-status.ts";
import type { Log } from "../../core/telemetry/log.ts";

/** The states of a folder, from the best to the worst, and the log level at which a folder enters them. */
const LOG_LEVELS = {
  watching: "info",
  "catching-up": "info",
  connecting: "debug",
  stopped: "info",
  network: "warn",
  locked: "warn",
  refused: "warn",
  "store-failed": "error",
  stuck: "error",
  "mailbox-gone": "error",
  "tls-failed": "error",
  "login-refused": "error",
} as const satisfies Record<MailState, keyof Log>;

/** Whether no mail arrives until an operator has fixed something. */
export function needsOperator(state: MailState): boolean {
  return state === "mailbox-gone" || state === "tls-failed" || state === "login-refused";
}

/** Whether no mail arrives, and will not by itself as far as anyone can tell: the service is not ready. */
export function standsStill(state: MailState): boolean {
  return needsOperator(state) || state === "stuck";
}

/** How long a temporary problem must last before it is reported. */
const DOWN_MS = 300_000;

/** Whether a person should know that no mail arrives. */
export function isDown({ folders }: Pick<MailStatus, "folders">, now = Date.now()): boolean {
  return folders.some(
    ({ state, since }) =>
      standsStill(state) ||
      ((state === "network" || state === "store-failed" || state === "refused") && now - since >= DOWN_MS),
  );
}

export function toMailStatus(
  { name }: { name: string },
  { mailbox }: { mailbox: string },
  folders: FolderStatus[],
): MailStatus {
  const rank = ({ state }: FolderStatus): number => Object.keys(LOG_LEVELS).indexOf(state);
  const worst = folders.toSorted((one, other) => rank(other) - rank(one))[0];
  return { name, mailbox, state: worst?.state ?? "stopped", error: worst?.error, folders };
}

/** The number of mails of a backlog between two lines of progress in the log. */
const PROGRESS_STEP = 500;

/** Keeps the status of one folder, and reports its changes. */
export interface StatusTracker {
  read(): FolderStatus;
  /**
   * Sets what the folder does when nothing is wrong, and how many mails wait, including the current ones. `given`: how many
   * mails have just come. A folder that is stuck stays so until one comes, or none waits.
   */
  setWork(state: WorkState, remaining: number, given: number): void;
  /** The problem is over: back to the last work state. */
  resume(): void;
  /** Enters any other state. The log mentions a state once, however often the attempt is repeated. */
  enter(state: MailState, problem?: FolderProblem): void;
  /** Sets how many mails earlier watches set aside. */
  restore(stored: { setAside: number }): void;
  countMail(mail: { setAside: boolean; repeated: boolean }): void;
  count(skipped: "passedOver" | "repeated"): void;
}

type WorkState = Extract<MailState, "connecting" | "watching" | "catching-up">;

interface FolderProblem {
  /** For the operator. */
  error: string;
  /** For the log: without any content of a mail. Default: `error`. */
  reason?: string;
  waitMs: number;
}

export interface TrackerOptions {
  mailbox: string;
  folder: string;
  log: Log;
  /** Called with each new state, and after each further failed attempt. */
  onChange(status: FolderStatus): void;
}

export function createStatusTracker({ mailbox, folder, log, onChange }: TrackerOptions): StatusTracker {
  const status: FolderStatus = {
    folder,
    state: "connecting",
    since: Date.now(),
    remaining: 0,
    posted: 0,
    setAside: 0,
    passedOver: 0,
    repeated: 0,
    lastMailAt: undefined,
    error: undefined,
    nextTryAt: undefined,
  };
  let workState: WorkState = "connecting";
  return {
    read: () => ({ ...status }),
    setWork(state, remaining, given) {
      workState = state;
      status.remaining = remaining;
      if (status.state !== "stuck" || given > 0 || remaining === 0) enter(state);
    },
    resume: () => enter(workState),
    enter,
    restore({ setAside }) {
      status.setAside = setAside;
    },
    countMail({ setAside, repeated }) {
      status[setAside ? "setAside" : repeated ? "repeated" : "posted"] += 1;
      status.remaining -= 1;
      status.lastMailAt = Date.now();
      const { remaining, posted } = status;
      const done = posted + status.setAside + status.repeated;
      if (status.state !== "catching-up" || remaining <= 0 || done % PROGRESS_STEP > 0) return;
      log.info("mail backlog", { mailbox, folder, posted, remaining });
    },
    count(skipped) {
      status[skipped] += 1;
    },
  };

  function enter(state: MailState, problem?: FolderProblem): void {
    const isNew = state !== status.state;
    if (isNew) Object.assign(status, { state, since: Date.now() });
    status.error = problem?.error;
    status.nextTryAt = problem && Date.now() + problem.waitMs;
    if (isNew) {
      const reason = problem?.reason ?? problem?.error;
      log[LOG_LEVELS[state]]("mail watch", {
        mailbox,
        folder,
        state,
        reason,
        remaining: status.remaining,
        waitMs: problem?.waitMs,
      });
    }
    if (isNew || problem) onChange({ ...status });
  }
}
