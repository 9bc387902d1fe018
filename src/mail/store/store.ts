/** What the watch keeps of one mailbox between starts. Every call blocks; each throws where the file cannot be read or written. */
export interface MailStore {
  /** Where a folder stands; one that was never followed begins now. */
  lane(folder: string): StoredLane;
  /** Whether the mail of this id was dealt with, in whichever folder. */
  isKnown(id: string): boolean;
  /** Keeps all of it, or nothing: on the disk once the call returns. */
  settle(settlement: Settlement): void;
  close(): void;
}

export interface StoredLane {
  /** When it was first followed, in milliseconds since the epoch. */
  startedAt: number;
  /** How far it is read; undefined: no batch was dealt with yet. */
  position: string | undefined;
  /** How many of its mails are set aside. */
  setAside: number;
}

/** What has become of some mails of a folder. */
export interface Settlement {
  folder: string;
  /** Ids of the mails that were dealt with, those set aside among them. */
  ids: string[];
  setAside: SetAside[];
  /** How far the folder is read now; absent: as before. */
  position?: string;
}

/** A mail that the service refuses for good. */
export interface SetAside {
  id: string;
  /** The answer to it alone. */
  status: number;
  /** The answer's `code`, empty where it had none. */
  code: string;
  /** The event that holds the refused request, where the service says so: what `webhooks events replay` takes. */
  eventId: string | undefined;
  /** Milliseconds since the epoch. */
  at: number;
  tries: number;
}
