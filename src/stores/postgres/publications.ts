import { toPublicationRow } from "../../core/journal/publication-rows.ts";
import type { NewPublication } from "../../core/journal/records/event.ts";
import type { Batch } from "./transaction.ts";

export function addPublications(batch: Batch, publications: NewPublication[]): void {
  batch.add(
    "new_publications",
    publications.map((publication, ord) => ({ ord, ...toPublicationRow(publication) })),
    `INSERT INTO hookline.publications (id, name, arguments, data, at, via)
     SELECT id, name, arguments, data, at, via FROM json_to_recordset($rows)
       AS row (ord integer, id text, name text, arguments text, data text, at bigint, via text) ORDER BY ord`,
  );
}
