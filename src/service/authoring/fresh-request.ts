import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { MappingInput } from "../../core/config/schema/generated.ts";
import { compileTemplate } from "../../core/mapping/template/template.ts";
import { parsePayloadPath, readValues } from "../../core/mapping/pattern.ts";
import { isObject, parseJson, parsePath, readPath } from "../../core/shared/json.ts";
import { isIdPath, listTemplatePaths } from "../../core/shared/template-values.ts";

export interface SentRequest {
  headers: Record<string, string>;
  body: Buffer;
  /** The content type. */
  type: string;
}

/**
 * The request as another delivery: with a new value of an id that `dedupe` of the hook's mappings reads, in headers and in a
 * body of JSON or a form, and with other bytes. Otherwise a file that is sent twice would be answered as the first time.
 */
export function toFreshRequest({ headers, body, type }: SentRequest, mappings: readonly MappingInput[]): SentRequest {
  const fresh = { headers: freshenHeaders(headers, mappings), body, type };
  const text = body.toString();
  if (type.startsWith(FORM)) {
    const fields = Object.fromEntries(new URLSearchParams(text));
    const ids = mappings.flatMap((mapping) => findIds(mapping, fields)[0]);
    return { ...fresh, body: Buffer.from(ids.reduce(freshenField, text)) };
  }
  const payload = parseJson(text);
  if (payload === undefined) return fresh;
  const ids = mappings.flatMap((mapping) => {
    const [usual, all] = findIds(mapping, payload);
    const before = toKey(mapping, payload, headers);
    const isChanged = before !== toKey(mapping, parseJson(usual.reduce(freshenId, text)), fresh.headers);
    return before === undefined || isChanged ? usual : all;
  });
  // White space behind a value means nothing, and makes what is signed another text.
  const nonce = Array.from(randomBytes(16), (byte) => (byte % 2 === 0 ? " " : "\t")).join("");
  const changed = mappings.some(({ mail }) => mail !== undefined) ? freshenMessageId(text) : text;
  if (ids.length === 0 && changed === text) addDeliveryHeader(fresh.headers, mappings);
  return { ...fresh, body: Buffer.from(ids.reduce(freshenId, changed) + nonce) };
}

const FORM = "application/x-www-form-urlencoded";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function freshenHeaders(headers: Record<string, string>, mappings: readonly MappingInput[]): Record<string, string> {
  const read = new Set(mappings.flatMap(({ dedupe }) => listTemplatePaths(dedupe)));
  const entries = Object.entries(headers).map(([name, value]) => {
    if (UUID.test(value)) return [name, randomUUID()];
    return [name, read.has(`headers.${name.toLowerCase()}`) ? toFreshText(value) : value];
  });
  return Object.fromEntries(entries);
}

/** A field of the body with an id; in a list, each item has its own. */
interface Id {
  name: string;
  values: (string | number)[];
}

/** The key of one event; undefined with `forEach`. */
function toKey(
  { dedupe, forEach }: MappingInput,
  payload: unknown,
  headers: SentRequest["headers"],
): string | undefined {
  if (dedupe === undefined || forEach !== undefined) return undefined;
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  const context = { ...(isObject(payload) && payload), payload, headers: Object.fromEntries(lower) };
  return compileTemplate(dedupe).renderKey(context).text;
}

/**
 * The ids that `dedupe` reads and the body has: first those to change, then all. Of one event, one that also chooses the
 * session is changed only if there is no other, or no other changes the key.
 */
function findIds({ dedupe, sessionKey, forEach }: MappingInput, payload: unknown): [usual: Id[], all: Id[]] {
  const inSession = new Set(listTemplatePaths(sessionKey));
  const items = readValues(payload, parsePayloadPath(forEach ?? "payload") ?? []);
  const found = listTemplatePaths(dedupe).flatMap((path) => {
    const id = isIdPath(path) && !path.startsWith("headers.") ? readId(path, payload, items) : undefined;
    return id && id.values.length > 0 ? { id, isChoice: inSession.has(path) } : [];
  });
  const all = found.map(({ id }) => id);
  if (forEach !== undefined) return [all, all];
  const others = found.filter(({ isChoice }) => !isChoice).map(({ id }) => id);
  return [others.length > 0 ? others : all.slice(0, 1), all];
}

function readId(path: string, payload: unknown, items: readonly unknown[]): Id {
  const [first = "", ...rest] = parsePath(path) ?? [];
  const values =
    first === "item"
      ? items.map((item) => readPath(item, rest))
      : [readPath(payload, first === "payload" ? rest : [first, ...rest])];
  // Within {{#each}}, a name is that of a field of each item.
  const nested = rest.length === 0 && values[0] === undefined ? findAll(payload, first) : [];
  return { name: rest.at(-1) ?? first, values: [...values, ...nested].filter(isId) };
}

function isId(value: unknown): value is string | number {
  return typeof value === "string" ? value !== "" : Number.isInteger(value);
}

function findAll(value: unknown, name: string): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => findAll(item, name));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, child]) => (key === name ? [child] : findAll(child, name)));
}

/** Everything else of the text stays as it is written. */
function freshenId(text: string, { name, values }: Id): string {
  return values.reduce<string>((part, value) => {
    // A large number is rounded.
    const written =
      Number.isSafeInteger(value) || typeof value === "string" ? RegExp.escape(JSON.stringify(value)) : "\\d{16,}";
    const field = new RegExp(String.raw`("${RegExp.escape(name)}"\s*:\s*)${written}(?![\w.])`, "g");
    const fresh = JSON.stringify(typeof value === "number" ? value + randomInt(1, 1_000_000) : toFreshText(value));
    return part.replaceAll(field, (_, start: string) => start + fresh);
  }, text);
}

/** The mail hook recognizes a mail by this header, which services hold in several forms. */
function freshenMessageId(text: string): string {
  const [, id] = /message-?id[^<]{0,60}<([^<>\s]+)>/i.exec(text) ?? [];
  return id === undefined ? text : text.replaceAll(id, `${randomBytes(8).toString("hex")}.${id}`);
}

/** Where the body has no id, a delivery is known by a header, if `dedupe` reads one. */
function addDeliveryHeader(headers: Record<string, string>, mappings: readonly MappingInput[]): void {
  const read = mappings.flatMap(({ dedupe }) =>
    listTemplatePaths(dedupe).filter((path) => path.startsWith("headers.")),
  );
  const names = read.map((path) => path.slice("headers.".length));
  const isThere = Object.keys(headers).some((name) => names.includes(name.toLowerCase()));
  if (names[0] !== undefined && !isThere) headers[names[0]] = randomUUID();
}

function freshenField(text: string, { name, values: [value = ""] }: Id): string {
  const field = new RegExp(`((?:^|&)${RegExp.escape(name)}=)[^&]*`);
  return text.replace(field, (_, start: string) => start + encodeURIComponent(toFreshText(String(value))));
}

/** In the same form: of its last part that has a digit, each digit and letter is another one. */
function toFreshText(text: string): string {
  const part = text.match(/[\dA-Za-z]*\d[\dA-Za-z]*/g)?.findLast((found) => found.length >= 4);
  if (part === undefined) return `${text}-${randomBytes(4).toString("hex")}`;
  const at = text.lastIndexOf(part);
  const fresh = part.replaceAll(/./g, (character) => {
    if (/\d/.test(character)) return String(randomInt(10));
    return String.fromCodePoint((character <= "Z" ? 65 : 97) + randomInt(6));
  });
  return text.slice(0, at) + fresh + text.slice(at + part.length);
}
