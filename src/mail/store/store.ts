import type { RefreshTokens } from "../source.ts";

/**
 * What the mail watch stores of one mailbox between starts. Only one process has the store of a mailbox open. Each call
 * rejects if the store cannot be read or written.
 */
export interface MailStore {
  /** The state of a folder; a new folder is followed from now on. */
  folder(name: string): Promise<StoredFolder>;
  /** Those of the ids whose mails were processed, in any folder. */
  findKnown(ids: string[]): Promise<Set<string>>;
  /** Stores all of it, or nothing; resolves once it is on disk. */
  settle(settlement: Settlement): Promise<void>;
  refreshTokens: RefreshTokens;
  close(): Promise<void>;
}

export interface StoredFolder {
  /** When it was first followed, in milliseconds since the epoch. */
  startedAt: number;
  /** How far it is read; undefined: no batch was processed yet. */
  position: string | undefined;
  /** How many of its mails are set aside. */
  setAside: number;
}

/** The results of some mails of a folder. */
export interface Settlement {
  folder: string;
  /** Ids of the processed mails, including those set aside. */
  ids: string[];
  setAside: SetAside[];
  /** How far the folder is read now; absent: unchanged. */
  position?: string;
}

/** A mail that the service rejects permanently. */
export interface SetAside {
  id: string;
  /** Of the response to a request with this mail alone. */
  status: number;
  /** The response's `code`, empty if it had none. */
  code: string;
  /** The event that stores the rejected request, if known: for `webhooks events replay`. */
  eventId: string | undefined;
  /** Milliseconds since the epoch. */
  at: number;
  tries: number;
}
