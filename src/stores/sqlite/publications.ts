import { toPublicationRow } from "../../core/journal/publication-rows.ts";
import type { NewPublication } from "../../core/journal/records/event.ts";
import type { Transaction } from "./group-commit.ts";

export function insertPublication({ run, announce }: Transaction, publication: NewPublication): void {
  const { id, name, arguments: args, data, at, via } = toPublicationRow(publication);
  run(INSERT_PUBLICATION, id, name, args, data, at, via);
  announce("publication");
}

const INSERT_PUBLICATION = `
  INSERT OR FAIL INTO publications (id, name, arguments, data, at, via) VALUES (?, ?, ?, ?, ?, ?)`;
