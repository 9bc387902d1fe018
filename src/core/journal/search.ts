import { parseExact } from "../shared/exact-json.ts";
import { readPath, toText } from "../shared/json.ts";
import { findUnfinished, listEventRows } from "./reads/events.ts";
import type { Reader, ReadValue } from "./reads/reader.ts";
import type { EventSearch, FieldCondition, SearchChunk } from "./records/event-search.ts";
import { bytes, integer, optional, type Row, text } from "./columns.ts";
import { type EventDetail, toDetail } from "./rows.ts";

/** SQL that tests whether a column contains the text. The values are those from $2 on. */
export interface TextSql {
  ofText(column: string): string;
  ofBytes(column: string): string;
  values: ReadValue[];
}

/** A store, as searches use it. */
export interface SearchReader extends Reader {
  toTextSql(text: string): TextSql;
  /** SQL that a `body` with all these values in its JSON meets. The parameters are those from $2 on. */
  toValuesSql(values: string[]): { sql: string; parameters: ReadValue[] };
}

/** How many events a chunk has: a search never asks for one event at a time. */
const CHUNK = 500;

interface Candidate {
  id: string;
  /** The key of its body and its entries, in the column of `keyOfParts`. */
  key: string;
  hook: string;
  isSettled: boolean;
  /** Most are not parsed. */
  json: string;
  detail: EventDetail;
}

/** Looks through the next events, newest first. A search is as many of these as its caller wants. */
export async function searchEvents(reader: SearchReader, search: EventSearch, before?: string): Promise<SearchChunk> {
  const { from, to, hook, status } = search;
  const rows = await listEventRows(reader, { limit: CHUNK, before, from, to, hook, status });
  const last = rows.at(-1);
  let found = rows.map((row) => toCandidate(row, reader)).filter((candidate) => matchesDetail(candidate, search));
  for (const narrow of NARROWINGS) if (found.length > 0) found = await narrow(reader, found, search);
  return {
    ids: found.map(({ id }) => id),
    searched: rows.length,
    at: optional(integer, last?.received_at ?? null),
    end: rows.length === CHUNK ? text(last?.id) : undefined,
  };
}

const keyOfParts = ({ tables }: SearchReader): string => `event_${tables.order}`;

function toCandidate(row: Row, { tables }: SearchReader): Candidate {
  let detail: EventDetail | undefined;
  return {
    id: text(row.id),
    key: String(row[tables.order]),
    hook: text(row.hook),
    isSettled: row.open === 0 && row.dead === 0,
    json: text(row.detail),
    get detail() {
      return (detail ??= toDetail(row));
    },
  };
}

function matchesDetail(candidate: Candidate, search: EventSearch): boolean {
  const { mapping, event, credential, session, fields = [] } = search;
  if ((mapping ?? event ?? credential ?? session) === undefined && fields.length === 0) return true;
  const { detail } = candidate;
  if (mapping !== undefined && detail.mapping !== mapping) return false;
  if (event !== undefined && detail.event !== event) return false;
  if (credential !== undefined && detail.credential !== credential) return false;
  if (session !== undefined && !detail.actions.some(({ sessionKey }) => sessionKey === session)) return false;
  return fields.every(({ path, value }) => path[0] === "payload" || toText(readPath(detail.request, path)) === value);
}

type Narrow = (reader: SearchReader, found: Candidate[], search: EventSearch) => Promise<Candidate[]>;

/** The cheapest first. */
const NARROWINGS: Narrow[] = [byUnfinished, byChannel, byModel, byGroup, byPayload, byText];

async function byUnfinished(
  reader: SearchReader,
  found: Candidate[],
  { unfinished }: EventSearch,
): Promise<Candidate[]> {
  if (unfinished === undefined) return found;
  const events = found.map(({ id, detail: { actions } }) => ({ id, actions }));
  const words = await findUnfinished(reader, events);
  return found.filter(({ id }) => words.get(id) === unfinished);
}

async function byChannel(reader: SearchReader, found: Candidate[], { channel }: EventSearch): Promise<Candidate[]> {
  if (channel === undefined) return found;
  const sql = "SELECT event_id AS key FROM hookline.deliveries WHERE event_id = ANY($1::uuid[]) AND channel = $2";
  return keep(reader, found, { keys: idsOf, sql, values: [channel] });
}

async function byModel(reader: SearchReader, found: Candidate[], { model }: EventSearch): Promise<Candidate[]> {
  if (model === undefined) return found;
  const sql = "SELECT id AS key, outcome FROM hookline.runs WHERE id = ANY($1::uuid[]) AND outcome IS NOT NULL";
  return keep(reader, found, { keys: runsOf, sql, test: (row) => JSON.parse(text(row.outcome)).model === model });
}

async function byGroup(reader: SearchReader, found: Candidate[], { group }: EventSearch): Promise<Candidate[]> {
  if (group === undefined) return found;
  const isOf = (state: string): string => `state = '${state}' AND error_group = $2`;
  const runs = `SELECT id AS key FROM hookline.runs WHERE id = ANY($1::uuid[]) AND ${isOf("dead")}`;
  const deliveries = `SELECT event_id AS key FROM hookline.deliveries WHERE event_id = ANY($1::uuid[]) AND ${isOf("failed")}`;
  const requests = `SELECT id AS key FROM ${reader.tables.states} WHERE id = ANY($1::uuid[]) AND failure_group = $2`;
  const kept = await Promise.all([
    keep(reader, found, { keys: runsOf, sql: runs, values: [group] }),
    keep(reader, found, { keys: idsOf, sql: deliveries, values: [group] }),
    keep(reader, found, { keys: idsOf, sql: requests, values: [group] }),
  ]);
  const all = new Set(kept.flat());
  return found.filter((candidate) => all.has(candidate));
}

async function byPayload(reader: SearchReader, found: Candidate[], { fields = [] }: EventSearch): Promise<Candidate[]> {
  const wanted = fields.filter(({ path: [root] }) => root === "payload");
  if (wanted.length === 0) return found;
  const { sql: hasAll, parameters } = reader.toValuesSql(wanted.map(({ value }) => value));
  const key = keyOfParts(reader);
  const sql = `SELECT ${key} AS key, body FROM hookline.bodies WHERE ${key} = ANY($1::uuid[]) AND ${hasAll}`;
  const test = (row: Row): boolean => hasValues(bytes(row.body).toString("utf8"), wanted);
  return keep(reader, found, { keys: keysOf, sql, values: parameters, test });
}

function hasValues(body: string, fields: FieldCondition[]): boolean {
  // Most bodies are not parsed: a value stands in them as it is, unless it is escaped.
  if (!body.includes("\\") && fields.some(({ value }) => !body.includes(value))) return false;
  try {
    const payload = parseExact(body);
    return fields.every(({ path, value }) => toText(readPath(payload, path.slice(1))) === value);
  } catch {
    return false;
  }
}

async function byText(reader: SearchReader, found: Candidate[], search: EventSearch): Promise<Candidate[]> {
  if (search.text === undefined) return found;
  const isInText = createTextTest(search.text);
  const { ofText, ofBytes, values } = reader.toTextSql(search.text);
  const hits = new Set(found.filter((candidate) => isInText(roughRowOf(candidate)) && isInText(rowOf(candidate))));
  const rest = (): Candidate[] => found.filter((candidate) => !hits.has(candidate));
  const isIn = (columns: string[]): string => `(${columns.map((column) => ofText(column)).join(" OR ")})`;
  const key = keyOfParts(reader);
  const bodies = `SELECT ${key} AS key FROM hookline.bodies WHERE ${key} = ANY($1::uuid[]) AND ${ofBytes("body")}`;
  const entries = `SELECT ${key} AS key FROM hookline.entries
    WHERE ${key} = ANY($1::uuid[]) AND role <> 'system' AND ${ofText("text")}`;
  const deliveries = `SELECT event_id AS key FROM hookline.deliveries
    WHERE event_id = ANY($1::uuid[]) AND ${isIn(["channel", "recipient", "error"])}`;
  const runs = `SELECT id AS key FROM ${reader.tables.runs}
    WHERE id = ANY($1::uuid[]) AND ${isIn(["error", "hold_reason", "action"])}`;
  for (const hit of await keep(reader, rest(), { keys: keysOf, sql: bodies, values })) hits.add(hit);
  for (const hit of await keep(reader, rest(), { keys: keysOf, sql: entries, values })) hits.add(hit);
  for (const hit of await keep(reader, rest(), { keys: idsOf, sql: deliveries, values })) hits.add(hit);
  const open = rest().filter(({ isSettled }) => !isSettled);
  if (open.length > 0) for (const hit of await keep(reader, open, { keys: runsOf, sql: runs, values })) hits.add(hit);
  return found.filter((candidate) => hits.has(candidate));
}

function rowOf({ id, hook, detail: { mapping, event, subject, reason, failure, actions } }: Candidate): string {
  const parts = actions.flatMap(({ sessionKey, runId }) => [sessionKey, runId]);
  return [id, hook, mapping, event, subject, reason, failure?.code, failure?.message, failure?.detail, ...parts].join(
    "\n",
  );
}

/** More than `rowOf`, and nothing of it is parsed. */
const roughRowOf = ({ id, hook, json }: Candidate): string => `${id}\n${hook}\n${json}`;

const idsOf = (found: Candidate[]): string[] => found.map(({ id }) => id);

const keysOf = (found: Candidate[]): string[] => found.map(({ key }) => key);

const runsOf = (found: Candidate[]): string[] =>
  found.flatMap(({ detail }) => detail.actions.flatMap(({ runId }) => runId ?? []));

interface Lookup {
  /** Keys of the candidates, as the rows have them. */
  keys(found: Candidate[]): string[];
  /** Given the keys, and the values from $2 on. Its rows have a `key`. */
  sql: string;
  values?: ReadValue[];
  test?(row: Row): boolean;
}

/** Candidates with a key among the rows. */
async function keep(
  { all }: SearchReader,
  found: Candidate[],
  { keys, sql, values = [], test = () => true }: Lookup,
): Promise<Candidate[]> {
  const rows = await all(sql, [keys(found), ...values]);
  const kept = new Set(rows.filter(test).map((row) => String(row.key)));
  return found.filter((candidate) => keys([candidate]).some((key) => kept.has(key)));
}

/* Case is folded. In JSON, a text may stand with escapes. */

const ESCAPE = /\\u([\da-f]{4})/gi;

/** Tests whether texts contain this one, in any case, also with the escapes of JSON. */
export function createTextTest(wanted: string): (value: string) => boolean {
  const lower = wanted.toLowerCase();
  const escaped = JSON.stringify(lower).slice(1, -1);
  // An expression of ASCII alone is several times as fast as changing the case of the text.
  // eslint-disable-next-line no-control-regex
  const isPlain = /^[\x20-\x7e]*$/.test(wanted);
  const forms = [...new Set([lower, escaped])];
  const expression = new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), isPlain ? "i" : "iu");
  return (value) =>
    expression.test(value) ||
    (!isPlain &&
      value.includes("\\u") &&
      expression.test(
        value.replaceAll(ESCAPE, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
      ));
}
