import { createHash } from "node:crypto";
import { integer, optional, text } from "../../storage/columns.ts";
import type { Database } from "../../storage/database.ts";
import type { MailStore, SetAside, Settlement, StoredLane } from "./port.ts";

interface Owner {
  mailbox: string;
  /** Most ids that are remembered, of all mailboxes together. */
  maxKnown: number;
}

/** What is kept of one mailbox, in an open `mail.db` that has its tables. */
export function createMailStore(database: Database, owner: Owner): MailStore {
  const { mailbox } = owner;
  return {
    lane: (folder) => readLane(database, mailbox, folder),
    isKnown: (id) => {
      const digest = toDigest(mailbox, id);
      return database.get("SELECT 1 FROM known WHERE digest = ?", digest) !== undefined;
    },
    settle: (settlement) => inTransaction(database, () => keep(database, owner, settlement)),
    close: () => database.close(),
  };
}

function readLane(database: Database, mailbox: string, folder: string): StoredLane {
  const begin = "INSERT OR IGNORE INTO lanes (mailbox, folder, started_at) VALUES (?, ?, ?)";
  database.run(begin, mailbox, folder, Date.now());
  const row = database.get(
    `SELECT started_at, position,
       (SELECT count(*) FROM set_aside WHERE mailbox = lanes.mailbox AND folder = lanes.folder) AS aside
     FROM lanes WHERE mailbox = ? AND folder = ?`,
    mailbox,
    folder,
  );
  return {
    startedAt: integer(row?.["started_at"]),
    position: optional(text, row?.["position"]),
    setAside: integer(row?.["aside"]),
  };
}

function keep(database: Database, { mailbox, maxKnown }: Owner, settlement: Settlement): void {
  const { folder, ids, setAside, position } = settlement;
  for (const id of ids) {
    database.run("INSERT OR IGNORE INTO known (digest) VALUES (?)", toDigest(mailbox, id));
  }
  database.run("DELETE FROM known WHERE seq <= (SELECT max(seq) FROM known) - ?", maxKnown);
  for (const mail of setAside) keepAside(database, [mailbox, folder], mail);
  if (position === undefined) return;
  database.run("UPDATE lanes SET position = ? WHERE mailbox = ? AND folder = ?", position, mailbox, folder);
}

function keepAside(database: Database, [mailbox, folder]: [string, string], mail: SetAside): void {
  const { id, status, code, eventId, at, tries } = mail;
  database.run(
    `INSERT OR REPLACE INTO set_aside (mailbox, folder, id, status, code, event_id, at, tries)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    mailbox,
    folder,
    id,
    status,
    code,
    eventId,
    at,
    tries,
  );
}

function inTransaction(database: Database, work: () => void): void {
  try {
    database.run("BEGIN IMMEDIATE");
    work();
    database.run("COMMIT");
  } catch (error) {
    // A full disk or a failed write has rolled back by itself.
    if (database.inTransaction()) database.run("ROLLBACK");
    throw error;
  }
}

/** Half of a SHA-256: enough that no two mails of a mailbox meet by chance, nor by anybody's doing. */
function toDigest(mailbox: string, id: string): Buffer {
  return createHash("sha256").update(`${mailbox}\n${id}`).digest().subarray(0, 16);
}
