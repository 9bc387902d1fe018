import { ABANDONED, toAbandonedRange, toSubscription } from "../publication-rows.ts";
import type {
  AbandonedEvent,
  NumberedPublication,
  PublicationState,
  Publications,
  PublishedType,
  Subscription,
  Unnumbered,
} from "../publications.ts";
import type { NewPublication } from "../records/event.ts";
import { integer, optional, type Row, text } from "../columns.ts";
import { type Reader, toWhere } from "./reader.ts";

export async function readState({ get }: Reader): Promise<PublicationState> {
  const row = await get("SELECT position, swept, swept_id, version FROM hookline.publishing");
  return {
    position: integer(row?.position),
    swept: integer(row?.swept),
    sweptId: text(row?.swept_id),
    version: integer(row?.version),
  };
}

export async function readStoreId({ get }: Reader): Promise<string> {
  return text((await get("SELECT store_id FROM hookline.publishing"))?.store_id);
}

export async function readIdAt({ get }: Reader, position: number): Promise<string | undefined> {
  const row =
    (await get("SELECT id FROM hookline.publications WHERE position = $1", [position])) ??
    (await get("SELECT swept_id AS id FROM hookline.publishing WHERE swept = $1", [position]));
  return row && text(row.id);
}

export async function listAbandoned(
  { all }: Reader,
  subscription: string,
  { before, limit }: Parameters<Publications["listAbandoned"]>[1],
): Promise<AbandonedEvent[]> {
  const rows = await all(
    `SELECT value FROM hookline.notes WHERE kind = '${ABANDONED}' AND key > $1 AND key < $2
     ORDER BY key DESC LIMIT ${Math.trunc(limit)}`,
    toAbandonedRange(subscription, before),
  );
  return rows.map(({ value }) => JSON.parse(text(value)));
}

export async function readPublications(
  { all }: Reader,
  { after, upTo, name, limit }: Parameters<Publications["read"]>[0],
): Promise<NumberedPublication[]> {
  const { where, values } = toWhere([
    ["position >", after],
    ["position <=", upTo],
    ["name =", name],
  ]);
  const rows = await all(
    `SELECT * FROM hookline.publications ${where} ORDER BY position LIMIT ${Math.trunc(limit)}`,
    values,
  );
  return rows.map(toPublication);
}

export async function readFirstSince({ get }: Reader, at: number): Promise<number | undefined> {
  const row = await get(
    "SELECT position FROM hookline.publications WHERE at >= $1 AND position IS NOT NULL ORDER BY at, position LIMIT 1",
    [at],
  );
  return row && integer(row.position);
}

export async function listUnnumbered({ all }: Reader, limit: number): Promise<Unnumbered[]> {
  const rows = await all(
    `SELECT * FROM hookline.publications WHERE position IS NULL ORDER BY seq LIMIT ${Math.trunc(limit)}`,
  );
  return rows.map((row) => ({ ...toNewPublication(row), seq: integer(row.seq) }));
}

export async function listTypes({ all }: Reader, name?: string): Promise<PublishedType[]> {
  const { where, values } = toWhere([["name =", name]]);
  const rows = await all(`SELECT * FROM hookline.publication_types ${where} ORDER BY name`, values);
  return rows.map((row) => ({ name: text(row.name), payloadSchema: JSON.parse(text(row.payload_schema)) }));
}

export async function listSubscriptions({ all }: Reader, id?: string): Promise<Subscription[]> {
  const { where, values } = toWhere([["id =", id]]);
  return (await all(`SELECT * FROM hookline.subscriptions ${where} ORDER BY id`, values)).map(toSubscription);
}

export async function hasCallback({ get }: Reader, principal: string, url: string): Promise<boolean> {
  const values = [principal, url];
  return (
    (await get("SELECT 1 FROM hookline.subscriptions WHERE principal = $1 AND url = $2 LIMIT 1", values)) !== undefined
  );
}

function toNewPublication(row: Row): NewPublication {
  return {
    id: text(row.id),
    name: text(row.name),
    arguments: JSON.parse(text(row.arguments)),
    data: optional(text, row.data),
    at: integer(row.at),
    via: JSON.parse(text(row.via)),
  };
}

function toPublication(row: Row): NumberedPublication {
  return { ...toNewPublication(row), position: integer(row.position) };
}
