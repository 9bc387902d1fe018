import { createNonce } from "../../core/shared/id.ts";
import { toPublicationRow } from "../../core/journal/publication-rows.ts";
import type { NewPublication } from "../../core/journal/records/event.ts";
import { optional, text } from "../../core/journal/rows.ts";
import type { Batch, Transaction } from "./transaction.ts";

export function addPublications(batch: Batch, publications: NewPublication[]): void {
  batch.add(
    "new_publications",
    publications.map((publication, ord) => ({ ord, ...toPublicationRow(publication) })),
    `INSERT INTO hookline.publications (id, name, arguments, data, at, via)
     SELECT id, name, arguments, data, at, via FROM json_to_recordset($rows)
       AS row (ord integer, id text, name text, arguments text, data text, at bigint, via text) ORDER BY ord`,
  );
}

/**
 * A dump that is restored is another store: it may have less than subscribers have seen. It has another cluster, database or
 * table. A copy of the cluster's files cannot be told from the original.
 */
export async function identifyStore({ get, run }: Transaction): Promise<string> {
  const mayRead = await get("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')::integer AS allowed");
  const cluster =
    mayRead?.allowed === 1 ? await get("SELECT system_identifier::text AS id FROM pg_control_system()") : undefined;
  const own = await get(
    `SELECT 'hookline.publishing'::regclass::oid::bigint AS relation,
       (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS database`,
  );
  const place = [cluster?.id ?? "", own?.database, own?.relation].join(" ");
  const row = await get("SELECT store_id, place FROM hookline.publishing FOR UPDATE");
  const known = optional(text, row?.place ?? null);
  if (known === place) return text(row?.store_id);
  const id = known === undefined ? text(row?.store_id) : createNonce().slice(0, 12);
  await run("UPDATE hookline.publishing SET store_id = $1, place = $2", [id, place]);
  return id;
}
