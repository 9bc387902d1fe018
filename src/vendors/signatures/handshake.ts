import type { FromSchema } from "json-schema-to-ts";
import { ExactNumber, parseExact } from "../../core/shared/exact-json.ts";
import { isObject, parsePath, readOwn, readPath, toObject, objectSchema } from "../../core/shared/json.ts";
import type { OptionProblem } from "../../core/ports/driver.ts";
import type { Bytes, Handshake, SignatureVerifier, SignedHead, SignedRequest } from "../../core/ports/signature.ts";

/** Maximum length of a text that is echoed or shown without a signature, and of a body that is read for it. */
const MAX_ECHO_LENGTH = 4096;

const ONE_HANDSHAKE = objectSchema([], {
  method: { enum: ["POST", "GET", "HEAD", "OPTIONS"], description: "The method of the check. Default: POST." },
  when: {
    type: "object",
    minProperties: 1,
    maxProperties: 8,
    additionalProperties: { type: ["string", "number", "boolean"] },
    description:
      "Fields of the request with their values: `query.<name>`, `headers.<name>`, or the path of a field of the body, such as `challenge` or `[0].eventType`. `*` is any text, number or boolean. Required for a POST.",
  },
  headers: {
    type: "object",
    maxProperties: 8,
    propertyNames: { pattern: "^[\\w-]+$" },
    additionalProperties: { type: "string" },
    description: "Headers of the answer, with the same placeholders.",
  },
  answer: {
    type: ["string", "object"],
    description:
      "A text, or an object that is sent as JSON. `{{payload.challenge}}` is that field of the body, `{{query.<name>}}` and `{{headers.<name>}}` those of the request.",
  },
});

export const HANDSHAKE_OPTION = {
  anyOf: [ONE_HANDSHAKE, { type: "array", minItems: 1, maxItems: 8, items: ONE_HANDSHAKE }],
  description: "How the sender checks that the hook exists. Such a request needs no signature and starts nothing.",
} as const;

type FixedHandshake = FromSchema<typeof ONE_HANDSHAKE>;
type FixedHandshakes = FromSchema<typeof HANDSHAKE_OPTION>;

/** The verifier with handshakes from the configuration; as it is without one. */
export function withFixedHandshake(
  verifier: SignatureVerifier,
  handshakes: FixedHandshakes | undefined,
): SignatureVerifier {
  if (!handshakes) return verifier;
  const rules = [handshakes].flat().map(toRule);
  const mayBeUnsigned = (head: SignedHead): boolean => rules.some((rule) => rule.mayBeUnsigned(head));
  return {
    ...verifier,
    presents: (head) => verifier.presents(head) || mayBeUnsigned(head),
    handshakeMethods: rules.flatMap(({ method }) => (method === "POST" ? [] : method)),
    handshake(request, result) {
      const possible = rules.filter((rule) => result === "valid" || rule.mayBeUnsigned(request));
      return possible.map((rule) => rule.answer(request)).find((answer) => answer !== undefined);
    },
  };
}

/** Finds rules that can never hold, or that would hold for each request. */
export function checkHandshake(handshakes: FixedHandshakes | undefined): OptionProblem[] {
  return [handshakes ?? []].flat().flatMap(({ method = "POST", when = {}, headers = {}, answer }, index) => {
    const key = Array.isArray(handshakes) ? `handshake[${index}]` : "handshake";
    const filled = [answer ?? "", headers].flatMap((part) => [...JSON.stringify(part).matchAll(PLACEHOLDER)]);
    const fields = [
      ...Object.keys(when).map((name) => ({ key: `${key}.when`, name })),
      ...filled.map(([, name = ""]) => ({ key: `${key}.answer`, name })),
    ];
    const problems = fields.flatMap(({ key: at, name }): OptionProblem[] => {
      const { source, path } = toField(name);
      if (path === undefined)
        return [{ key: at, message: `"${name}" is not the path of a field, so it never matches.` }];
      if (source !== "payload" || method === "POST") return [];
      const message = `A ${method} has no body, so "${name}" never matches. Use query.<name> or headers.<name>.`;
      return [{ key: at, message }];
    });
    if (method === "POST" && Object.keys(when).length === 0) {
      problems.push({ key: `${key}.when`, message: "A POST needs when: else each event would be answered so." });
    }
    if (answer === undefined && Object.keys(headers).length === 0) {
      problems.push({ key: `${key}.answer`, message: "Set answer, headers or both." });
    }
    return problems;
  });
}

/** The answer to requests that have certain fields. */
function toRule({ method = "POST", when = {}, headers = {}, answer }: FixedHandshake) {
  const conditions = Object.entries(when).map(([name, value]) => ({ ...toField(name), value }));
  const ofHead = conditions.filter(({ source }) => source !== "payload");
  return {
    method,
    mayBeUnsigned: (head: SignedHead): boolean =>
      (method === "POST" ? isShortPost(head) : head.method === method) &&
      ofHead.every((condition) => holds(condition, head)),
    answer(request: SignedRequest): Handshake | undefined {
      const { query, body } = request;
      const read = { query, headers: request.headers, payload: parseShort(body) };
      if (request.method !== method || !conditions.every((condition) => holds(condition, read))) return undefined;
      const sent = Object.entries(headers).map(([name, value]) => [name, fillPlaceholders(value, read)] as const);
      if (!sent.every(([, value]) => HEADER_VALUE.test(value))) return undefined;
      const filled = fillPlaceholders(answer ?? "", read);
      const written = typeof filled === "string" ? echo(filled) : { status: 200, body: toObject(filled) };
      // An answer whose field is missing is none; without an answer, its headers are the whole.
      if (!written && (answer ?? "") !== "") return undefined;
      const all = { ...written?.headers, ...Object.fromEntries(sent) };
      return { status: 200, ...written, ...(Object.keys(all).length > 0 && { headers: all }) };
    },
  };
}

/** No line break, which Node would refuse. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]+$/;

interface Sources {
  query: SignedHead["query"];
  headers: SignedHead["headers"];
  payload?: unknown;
}

interface Field {
  source: keyof Sources;
  /** undefined: it is no path. */
  path: readonly string[] | undefined;
}

/** Names in the query and of headers have no path of their own: `query.hub.challenge`. */
function toField(text: string): Field {
  const [, source, name = ""] = /^(query|headers)(?:\.|(?=\[))(.+)$/.exec(text) ?? [];
  if (source === "query") return { source, path: [unquote(name)] };
  if (source === "headers") return { source, path: [unquote(name).toLowerCase()] };
  const written = text.replace(/^payload\.?(?=\[)|^payload\./, "");
  return { source: "payload", path: parsePath(written) };
}

/** `[hub.challenge]` and `['hub.challenge']`, as templates have it. */
function unquote(name: string): string {
  return name.replace(/^\[(["']?)(.*)\1\]$/, "$2");
}

function readField({ source, path }: Field, sources: Sources): unknown {
  return path && readPath(readOwn(sources, source), path);
}

function holds({ value, ...field }: Field & { value: unknown }, sources: Sources): boolean {
  const sent = readField(field, sources);
  return value === "*" ? isShown(sent) : (sent instanceof ExactNumber ? Number(sent) : sent) === value;
}

/** `payload.` may be left out, as in the templates of a mapping. */
const PLACEHOLDER = /\{\{\s*([^{}\s]+)\s*\}\}/g;

/** Shows texts, numbers and booleans; other values are left out. */
function fillPlaceholders(answer: string, sources: Sources): string;
function fillPlaceholders(answer: unknown, sources: Sources): unknown;
function fillPlaceholders(answer: unknown, sources: Sources): unknown {
  if (typeof answer === "string") {
    return answer.replace(PLACEHOLDER, (_, name: string) => {
      const value = readField(toField(name), sources);
      return isShown(value) ? String(value) : "";
    });
  }
  if (Array.isArray(answer)) return answer.map((item) => fillPlaceholders(item, sources));
  if (!isObject(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, fillPlaceholders(value, sources)]));
}

function isShown(value: unknown): value is string | number | boolean | ExactNumber {
  return ["string", "number", "boolean"].includes(typeof value) || value instanceof ExactNumber;
}

export const OK: Handshake = { status: 200, body: {} };

/** Plain text, which no browser takes for a page. */
export function echo(text: unknown): Handshake | undefined {
  if (typeof text !== "string" || text === "" || text.length > MAX_ECHO_LENGTH) return undefined;
  const headers = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
  return { status: 200, headers, body: text };
}

export function isShortPost({ method, headers }: SignedHead): boolean {
  return method === "POST" && Number(headers["content-length"]) <= MAX_ECHO_LENGTH;
}

/** The body, unless it is longer than a handshake's, so that it is not parsed for nothing. */
export function toShortText(body: Bytes): string {
  return body.length > MAX_ECHO_LENGTH ? "" : body.toString();
}

/** An object or an array; undefined if it is no JSON. */
function parseShort(body: Bytes): unknown {
  try {
    return parseExact(toShortText(body));
  } catch {
    return undefined;
  }
}

/** Whether it is a text that may be shown to the operator and sent back in a header. */
export function isShowable(text: unknown): text is string {
  return typeof text === "string" && /^[\w+/=-]{8,256}$/.test(text);
}
