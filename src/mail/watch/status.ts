import type { Log } from "../../telemetry/log.ts";

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

/** What a folder's watch can be at, from the best to the worst. */
const MAIL_STATES = [
  "watching",
  "catching-up",
  "connecting",
  "stopped",
  "network",
  "watched-elsewhere",
  "service-refuses",
  "store-failed",
  "mailbox-gone",
  "tls-failed",
  "login-refused",
] as const;
/**
 * watching: all that is there was dealt with · catching-up: mails wait behind those in hand · connecting: not open yet ·
 * stopped · network: the mailbox cannot be reached · watched-elsewhere: another process has the mailbox ·
 * service-refuses: the hook takes no mail at all · store-failed: what was dealt with cannot be written down ·
 * mailbox-gone, tls-failed, login-refused: an operator must mend it.
 */
export type MailState = (typeof MAIL_STATES)[number];

/** Whether no mail comes until an operator has mended something. */
export function needsOperator(state: MailState): boolean {
  return state === "mailbox-gone" || state === "tls-failed" || state === "login-refused";
}

/** How one folder is doing. Times in milliseconds since the epoch. */
export interface FolderStatus {
  folder: string;
  state: MailState;
  /** When it came into this state. */
  since: number;
  /** How many mails are known to wait. */
  remaining: number;
  /** Mails that the hook took since the watch began. */
  posted: number;
  /** Mails set aside, those of earlier watches too. */
  setAside: number;
  /** Mails that the filter passed over since the watch began. */
  passedOver: number;
  lastMailAt: number | undefined;
  /** What keeps it from watching. */
  error: string | undefined;
  nextTryAt: number | undefined;
}

export interface MailStatus {
  source: string;
  mailbox: string;
  /** The worst of the folders' states, and its error. */
  state: MailState;
  error: string | undefined;
  folders: FolderStatus[];
}

/** The state of a mailbox out of those of its folders. */
export function toMailStatus(
  { name: source, mailbox }: { name: string; mailbox: string },
  folders: FolderStatus[],
): MailStatus {
  const worst = folders.toSorted((one, other) => rank(other) - rank(one))[0];
  return { source, mailbox, state: worst?.state ?? "stopped", error: worst?.error, folders };
}

function rank({ state }: FolderStatus): number {
  return MAIL_STATES.indexOf(state);
}
