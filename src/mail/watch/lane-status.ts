import type { Log } from "../../telemetry/log.ts";
import type { FolderStatus, MailState } from "./states.ts";

export interface LaneStatus {
  read(): FolderStatus;
  /** What is at hand, and how many mails wait, those at hand among them. */
  work(state: WorkState, remaining: number): void;
  /** Whatever was wrong is not any more: on with what was at hand. */
  resume(): void;
  /** Something is wrong, or over. The log says so once, however often it is tried again. */
  enter(state: MailState, trouble?: Trouble): void;
  /** Says how many mails earlier watches set aside. */
  begin(stored: { setAside: number }): void;
  /** Counts a mail that was dealt with. */
  count(dealt: { setAside: boolean }): void;
  /** Counts a mail that the filter does not want. */
  passOver(): void;
}

type WorkState = Extract<MailState, "connecting" | "watching" | "catching-up">;

interface Trouble {
  /** For the operator. */
  error: string;
  /** For the log: nothing of a mail. Default: `error`. */
  reason?: string;
  /** Until the next try, in milliseconds. */
  waitMs: number;
}

export interface LaneStatusOptions {
  folder: string;
  log: Log;
  /** Told of each new state, and of each further try that failed. */
  changed(status: FolderStatus): void;
}

/** How loud the log is about coming into a state. */
const LEVELS: Record<MailState, keyof Log> = {
  watching: "info",
  "catching-up": "info",
  connecting: "debug",
  stopped: "info",
  network: "warn",
  "watched-elsewhere": "warn",
  "service-refuses": "warn",
  "store-failed": "error",
  "mailbox-gone": "error",
  "tls-failed": "error",
  "login-refused": "error",
};

/** Keeps how a folder is doing, and says what changes. */
export function createLaneStatus({ folder, log, changed }: LaneStatusOptions): LaneStatus {
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
  let atHand: WorkState = "connecting";
  return {
    read: () => ({ ...status }),
    work(state, remaining) {
      atHand = state;
      status.remaining = remaining;
      enter(state);
    },
    resume: () => enter(atHand),
    enter,
    begin({ setAside }) {
      status.setAside = setAside;
    },
    count({ setAside }) {
      status[setAside ? "setAside" : "posted"] += 1;
      status.remaining -= 1;
      status.lastMailAt = Date.now();
    },
    passOver() {
      status.passedOver += 1;
    },
  };

  function enter(state: MailState, trouble?: Trouble): void {
    const isNew = state !== status.state;
    if (isNew) Object.assign(status, { state, since: Date.now() });
    status.error = trouble?.error;
    status.nextTryAt = trouble && Date.now() + trouble.waitMs;
    if (isNew) tell(trouble);
    if (isNew || trouble) changed({ ...status });
  }

  function tell(trouble: Trouble | undefined): void {
    const { state, remaining } = status;
    const reason = trouble?.reason ?? trouble?.error;
    log[LEVELS[state]]("mail watch", { folder, state, reason, remaining, waitMs: trouble?.waitMs });
  }
}
