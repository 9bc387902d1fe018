import { isUtf8 } from "node:buffer";
import { HookError } from "../errors.ts";
import type { BodyKind } from "./body-kind.ts";
import { parseForm } from "./parse-form.ts";
import { parseJson } from "./parse-json.ts";

export interface ParsedBody {
  payload: unknown;
  /** True where `payload` is `JSON.parse` of just these bytes. */
  payloadIsBody: boolean;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Gives the body its meaning. Throws 400 for what is broken, 415 for text that holds no JSON. */
export function parseBody(kind: BodyKind, body: Buffer): ParsedBody {
  if (!isUtf8(body)) throw new HookError(400, "invalid_utf8", "The body is not valid UTF-8.");
  const hasMark = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const text = body.toString("utf8", hasMark ? BYTE_ORDER_MARK.length : 0);
  if (kind === "form") return { payload: toFormPayload(parseForm(text)), payloadIsBody: false };
  return { payload: kind === "text" ? parseText(text) : parseJson(text), payloadIsBody: !hasMark };
}

/** Some providers send JSON as a form with one field `payload`. */
function toFormPayload(fields: Record<string, string | string[]>): unknown {
  const { payload } = fields;
  return typeof payload === "string" && /^\s*[[{]/.test(payload) ? parseJson(payload) : fields;
}

/** Text that is not even meant as JSON is a type that hooks do not take. */
function parseText(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (text.trim() === "" || /^\s*["[{]/.test(text)) throw error;
    throw new HookError(415, "unsupported_media_type", "The body is text that holds no JSON.", {
      cause: error,
    });
  }
}
