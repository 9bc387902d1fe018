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
