/** The state of a folder. */
export type MailState =
  /** All mails are processed. */
  | "watching"
  /** More mails wait behind the current batch. */
  | "catching-up"
  /** The folder is not open yet. */
  | "connecting"
  | "stopped"
  /** The mailbox cannot be reached. */
  | "network"
  /** Another process watches the mailbox. */
  | "locked"
  /** The hook accepts no mail at all. */
  | "refused"
  /** Results cannot be stored. */
  | "store-failed"
  /** Mails wait, and connection after connection gives none of them. */
  | "stuck"
  | "mailbox-gone"
  | "tls-failed"
  | "login-refused";

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
  /** Mails that were processed before, and came again since the watch began: a copy in another folder, for example. */
  repeated: number;
  lastMailAt: number | undefined;
  /** Why the folder cannot be watched. */
  error: string | undefined;
  nextTryAt: number | undefined;
}

export interface MailStatus {
  /** The configured name. */
  name: string;
  /** `imap://ann@mail.example.com` */
  mailbox: string;
  /** The worst state of all folders, and its error. */
  state: MailState;
  error: string | undefined;
  folders: FolderStatus[];
}
