import { statSync } from "node:fs";
import { createNonce } from "../../core/shared/id.ts";
import { toPublicationRow } from "../../core/journal/publication-rows.ts";
import type { NewPublication } from "../../core/journal/records/event.ts";
import { text } from "../../core/journal/rows.ts";
import type { Database } from "./database.ts";
import type { Transaction } from "./group-commit.ts";

export function insertPublication({ run, announce }: Transaction, publication: NewPublication): void {
  const { id, name, arguments: args, data, at, via } = toPublicationRow(publication);
  run(INSERT_PUBLICATION, id, name, args, data, at, via);
  announce("publication");
}

const INSERT_PUBLICATION = `
  INSERT OR FAIL INTO publications (id, name, arguments, data, at, via) VALUES (?, ?, ?, ?, ?, ?)`;

/** A copy of the file is another store: it may have less than subscribers have seen. */
export function identifyStore({ get, run }: Transaction, file: string): string {
  const { dev, ino } = statSync(file, { bigint: true });
  const place = `${dev} ${ino}`;
  const row = get("SELECT store_id, place FROM publishing");
  if (row?.place === place) return text(row.store_id);
  const id = row?.place === null ? text(row.store_id) : createNonce().slice(0, 12);
  run("UPDATE publishing SET store_id = ?, place = ?", id, place);
  return id;
}

/** Makes a copy of a journal another store, wherever it is restored. */
export function markCopy({ get, run }: Pick<Database, "get" | "run">): void {
  if (get("SELECT 1 FROM sqlite_schema WHERE name = 'publishing'")) {
    run("UPDATE publishing SET place = '' WHERE place IS NOT NULL");
  }
}
