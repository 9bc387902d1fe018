import type { Log } from "../../telemetry/log.ts";

/** The states of a folder, from the best to the worst. */
const MAIL_STATES = [
  "watching",
  "catching-up",
  "connecting",
  "stopped",
  "network",
  "locked",
  "rejected",
  "store-failed",
  "mailbox-gone",
  "tls-failed",
  "login-refused",
] as const;
/**
 * watching: all mails are processed · catching-up: more mails wait behind the current batch · connecting: not open yet · stopped ·
 * network: the mailbox cannot be reached · locked: another process watches the mailbox · rejected: the hook accepts no mail at all ·
 * store-failed: results cannot be stored · mailbox-gone, tls-failed, login-refused: an operator must fix it.
 */
export type MailState = (typeof MAIL_STATES)[number];

/** Whether no mail arrives until an operator has fixed something. */
export function needsOperator(state: MailState): boolean {
  return state === "mailbox-gone" || state === "tls-failed" || state === "login-refused";
}

/** How one folder is doing. Times in milliseconds since the epoch. */
export interface FolderStatus {
  folder: string;
  state: MailState;
  /** When the folder entered this state. */
  since: number;
  /** How many mails are known to wait. */
  remaining: number;
  /** Mails that the hook accepted since the watch began. */
  posted: number;
  /** Mails set aside, including those of earlier watches. */
  setAside: number;
  /** Mails that the filter skipped since the watch began. */
  passedOver: number;
  lastMailAt: number | undefined;
  /** What keeps the folder from being watched. */
  error: string | undefined;
  nextTryAt: number | undefined;
}

export interface MailStatus {
  source: string;
  mailbox: string;
  /** The worst state of all folders, and its error. */
  state: MailState;
  error: string | undefined;
  folders: FolderStatus[];
}

export function toMailStatus(
  { name: source, mailbox }: { name: string; mailbox: string },
  folders: FolderStatus[],
): MailStatus {
  const rank = ({ state }: FolderStatus): number => MAIL_STATES.indexOf(state);
  const worst = folders.toSorted((one, other) => rank(other) - rank(one))[0];
  return { source, mailbox, state: worst?.state ?? "stopped", error: worst?.error, folders };
}

/** Keeps the status of one folder, and reports its changes. */
export interface StatusTracker {
  read(): FolderStatus;
  /** Sets what the folder does when nothing is wrong, and how many mails wait, including the current ones. */
  setWork(state: WorkState, remaining: number): void;
  /** The problem is over: back to the last work state. */
  resume(): void;
  /** Enters any other state. The log mentions a state once, however often the attempt is repeated. */
  enter(state: MailState, problem?: FolderProblem): void;
  /** Sets how many mails earlier watches set aside. */
  restore(stored: { setAside: number }): void;
  countMail(mail: { setAside: boolean }): void;
  countFiltered(): void;
}

type WorkState = Extract<MailState, "connecting" | "watching" | "catching-up">;

interface FolderProblem {
  /** For the operator. */
  error: string;
  /** For the log: without any content of a mail. Default: `error`. */
  reason?: string;
  /** Time until the next attempt. */
  waitMs: number;
}

export interface TrackerOptions {
  folder: string;
  log: Log;
  /** Called with each new state, and after each further failed attempt. */
  onChange(status: FolderStatus): void;
}

const LOG_LEVELS: Record<MailState, keyof Log> = {
  watching: "info",
  "catching-up": "info",
  connecting: "debug",
  stopped: "info",
  network: "warn",
  locked: "warn",
  rejected: "warn",
  "store-failed": "error",
  "mailbox-gone": "error",
  "tls-failed": "error",
  "login-refused": "error",
};

export function createStatusTracker({ folder, log, onChange }: TrackerOptions): StatusTracker {
  const status: FolderStatus = {
    folder,
    state: "connecting",
    since: Date.now(),
    remaining: 0,
    posted: 0,
    setAside: 0,
    passedOver: 0,
    lastMailAt: undefined,
    error: undefined,
    nextTryAt: undefined,
  };
  let workState: WorkState = "connecting";
  return {
    read: () => ({ ...status }),
    setWork(state, remaining) {
      workState = state;
      status.remaining = remaining;
      enter(state);
    },
    resume: () => enter(workState),
    enter,
    restore({ setAside }) {
      status.setAside = setAside;
    },
    countMail({ setAside }) {
      status[setAside ? "setAside" : "posted"] += 1;
      status.remaining -= 1;
      status.lastMailAt = Date.now();
    },
    countFiltered() {
      status.passedOver += 1;
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
