import type { FromSchema } from "json-schema-to-ts";
import { ExactNumber, parseExactObject } from "../../core/shared/exact-json.ts";
import { isObject, parsePath, readPath, toObject, objectSchema } from "../../core/shared/json.ts";
import type { Bytes, Handshake, SignatureVerifier, SignedHead, SignedRequest } from "../../core/ports/signature.ts";

/** Maximum length of a text that is echoed or shown without a signature. */
const MAX_ECHO_LENGTH = 4096;
const MAX_UNSIGNED_BYTES = 1024;

export const HANDSHAKE_OPTION = {
  description: "How the sender checks that the hook exists. Such a request needs no signature and starts nothing.",
  ...objectSchema(["when", "answer"], {
    when: {
      type: "object",
      minProperties: 1,
      maxProperties: 8,
      additionalProperties: { type: ["string", "number", "boolean"] },
      description: "Fields of the body, by path, with their values. `*` is any text, number or boolean.",
    },
    answer: {
      type: ["string", "object"],
      description: "A text, or an object that is sent as JSON. `{{payload.challenge}}` is that field of the body.",
    },
  }),
} as const;

type FixedHandshake = FromSchema<typeof HANDSHAKE_OPTION>;

/** The verifier with a handshake from the configuration; as it is without one. */
export function withFixedHandshake(
  verifier: SignatureVerifier,
  handshake: FixedHandshake | undefined,
): SignatureVerifier {
  if (!handshake) return verifier;
  const { mayBeUnsigned, answer } = fixedAnswer(handshake);
  return {
    ...verifier,
    presents: (head) => verifier.presents(head) || mayBeUnsigned(head),
    handshake: (request, result) => (result === "valid" || mayBeUnsigned(request) ? answer(request) : undefined),
  };
}

/** The answer to requests whose bodies have certain fields. */
function fixedAnswer({ when, answer }: FixedHandshake) {
  const fields = Object.entries(when).map(([path, value]) => ({ path: parsePath(path) ?? [path], value }));
  return {
    mayBeUnsigned: isShortPost,
    answer({ method, body }: SignedRequest): Handshake | undefined {
      const payload = parseExactObject(toShortText(body));
      const isHandshake = fields.every(({ path, value }) => {
        const sent = readPath(payload, path);
        return value === "*" ? isShown(sent) : (sent instanceof ExactNumber ? Number(sent) : sent) === value;
      });
      if (method !== "POST" || !isHandshake) return undefined;
      const filled = fillPlaceholders(answer, payload);
      return typeof filled === "string" ? echo(filled) : { status: 200, body: toObject(filled) };
    },
  };
}

/** `payload.` may be left out, as in the templates of a mapping. */
const PLACEHOLDER = /\{\{\s*(?:payload\.)?([^{}\s]+)\s*\}\}/g;

/** Shows texts, numbers and booleans; other values are left out. */
function fillPlaceholders(answer: unknown, payload: unknown): unknown {
  if (typeof answer === "string") {
    return answer.replace(PLACEHOLDER, (_, path: string) => {
      const value = readPath(payload, parsePath(path) ?? [path]);
      return isShown(value) ? String(value) : "";
    });
  }
  if (Array.isArray(answer)) return answer.map((item) => fillPlaceholders(item, payload));
  if (!isObject(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, fillPlaceholders(value, payload)]));
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
  return method === "POST" && Number(headers["content-length"]) <= MAX_UNSIGNED_BYTES;
}

/** The body, unless it is longer than a handshake's, so that it is not parsed for nothing. */
export function toShortText(body: Bytes): string {
  return body.length > MAX_ECHO_LENGTH ? "" : body.toString();
}

/** Whether it is a text that may be shown to the operator and sent back in a header. */
export function isShowable(text: unknown): text is string {
  return typeof text === "string" && /^[\w+/=-]{8,256}$/.test(text);
}
