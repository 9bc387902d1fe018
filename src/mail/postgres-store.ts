import type { Lease } from "../core/journal/journal.ts";
import { isLeaseHeld } from "../stores/postgres/leases.ts";
import type { PostgresJournal } from "../stores/postgres/postgres.ts";
import { integer, optional, text } from "../core/journal/columns.ts";
import { toJson, toPostgresText } from "../stores/postgres/text.ts";
import type { Transaction } from "../stores/postgres/transaction.ts";
import type { RefreshTokens } from "../core/ports/mail-source.ts";
import { MAX_KNOWN, type MailStore, type MailStoreOptions, toDigest } from "./store.ts";

interface PostgresMailStoreOptions extends Omit<MailStoreOptions, "folder"> {
  journal: PostgresJournal;
}

/**
 * Opens the store of a mailbox in the journal's database, for this node alone; undefined while another node has it. The node
 * loses it when its lease ends: each call takes it again, or rejects while another node has it.
 */
export async function openPostgresMailStore({
  journal,
  mailbox,
  maxKnown = MAX_KNOWN,
}: PostgresMailStoreOptions): Promise<MailStore | undefined> {
  const leaseName = `mail:${mailbox}`;
  let lease = await journal.lease(leaseName);
  if (!lease) return undefined;

  const call = <Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> =>
    journal.commit(async (transaction) => {
      if (!lease || !(await isLeaseHeld(transaction, lease))) lease = await takeAgain();
      return work(transaction);
    });

  return {
    folder: (name) =>
      call(async (sql) => {
        const folder = toPostgresText(name);
        await sql.run(
          "INSERT INTO hookline.mail_folders (mailbox, folder, started_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
          [mailbox, folder, Date.now()],
        );
        const row = await sql.get(FOLDER, [mailbox, folder]);
        return {
          startedAt: integer(row?.started_at),
          position: optional(text, row?.position ?? null),
          setAside: integer(row?.set_aside),
        };
      }),
    findKnown: (ids) =>
      call(async (sql) => {
        const digests = new Map(ids.map((id) => [toHex(id), id]));
        const found = "SELECT digest FROM hookline.mail_known WHERE digest = ANY($1::text[])";
        const rows = await sql.all(found, [[...digests.keys()]]);
        return new Set(rows.map((row) => digests.get(text(row.digest))!));
      }),
    record: ({ folder, ids, setAside, position }) =>
      call(async (sql) => {
        await sql.run(ADD_KNOWN, [ids.map(toHex)]);
        await sql.run("DELETE FROM hookline.mail_known WHERE seq <= (SELECT max(seq) FROM hookline.mail_known) - $1", [
          maxKnown,
        ]);
        const rows = setAside.map(({ eventId, ...mail }) => ({ ...mail, mailbox, folder, event_id: eventId }));
        if (rows.length > 0) await sql.run(SET_ASIDE, [toJson(rows)]);
        if (position === undefined) return;
        await sql.run("UPDATE hookline.mail_folders SET position = $3 WHERE mailbox = $1 AND folder = $2", [
          mailbox,
          toPostgresText(folder),
          position,
        ]);
      }),
    refreshTokens: refreshTokensBy(call, mailbox),
    async close() {
      if (lease) await journal.releaseLease(lease);
    },
  };

  function toHex(id: string): string {
    return toDigest(mailbox, id).toString("hex");
  }

  async function takeAgain(): Promise<Lease> {
    const next = await journal.lease(leaseName);
    if (!next) throw new Error("another node watches this mailbox");
    return next;
  }
}

/** The refresh tokens of a mailbox, also while another node has its store. */
export function createPostgresRefreshTokens({ journal, mailbox }: PostgresMailStoreOptions): RefreshTokens {
  return refreshTokensBy((work) => journal.commit(work), mailbox);
}

type Call = <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>;

function refreshTokensBy(call: Call, mailbox: string): RefreshTokens {
  const toHex = (configured: string): string => toDigest(mailbox, configured).toString("hex");
  return {
    find: (configured) =>
      call(async (sql) => {
        const statement = "SELECT token FROM hookline.mail_refresh_tokens WHERE mailbox = $1 AND configured = $2";
        const row = await sql.get(statement, [mailbox, toHex(configured)]);
        return row && text(row.token);
      }),
    replace: (configured, token) =>
      call(async (sql) => void (await sql.run(REPLACE_TOKEN, [mailbox, toHex(configured), token]))),
  };
}

const FOLDER = `
  SELECT started_at, position,
    (SELECT count(*) FROM hookline.mail_set_aside AS aside WHERE aside.mailbox = $1 AND aside.folder = $2) AS set_aside
  FROM hookline.mail_folders WHERE mailbox = $1 AND folder = $2`;

const ADD_KNOWN = `
  INSERT INTO hookline.mail_known (digest)
  SELECT digest FROM unnest($1::text[]) WITH ORDINALITY AS new (digest, place)
  WHERE NOT EXISTS (SELECT 1 FROM hookline.mail_known AS old WHERE old.digest = new.digest)
  ORDER BY place ON CONFLICT DO NOTHING`;

const SET_ASIDE = `
  INSERT INTO hookline.mail_set_aside (mailbox, folder, id, status, code, event_id, at, tries)
  SELECT * FROM json_to_recordset($1::json) AS row (mailbox text, folder text, id text, status integer, code text,
    event_id text, at bigint, tries integer)
  ON CONFLICT (mailbox, folder, id) DO UPDATE SET status = excluded.status, code = excluded.code,
    event_id = excluded.event_id, at = excluded.at, tries = excluded.tries`;

const REPLACE_TOKEN = `
  INSERT INTO hookline.mail_refresh_tokens (mailbox, configured, token) VALUES ($1, $2, $3)
  ON CONFLICT (mailbox) DO UPDATE SET configured = excluded.configured, token = excluded.token`;
