import { readFileSync } from "node:fs";
import { isObject } from "../../config/is-object.ts";
import { parseSource } from "../../config/parse.ts";
import { ConfigError, messageOf } from "../../errors.ts";
import type { Sample } from "./find.ts";

/** What a sample posts. */
export interface SampleRequest {
  /** The body as it stands in the file. */
  body: string;
  payload: unknown;
  headers: unknown;
  query: unknown;
  /** Milliseconds since the epoch. */
  receivedAt: number;
}

/** A sample gives the same tomorrow: its request comes at this moment, unless it names another. */
const MOMENT = "2026-01-05T09:00:00.000Z";

/** Reads a sample's files. Throws a `ConfigError` that says what is wrong with them. */
export function readSampleRequest({ payloadFile, requestFile }: Sample): SampleRequest {
  const body = readFileSync(payloadFile, "utf8");
  const { headers, query, now = MOMENT } = readContext(requestFile);
  const receivedAt = typeof now === "string" ? Date.parse(now) : Number.NaN;
  if (Number.isNaN(receivedAt)) {
    throw new ConfigError([{ file: requestFile, key: "now", message: `must be a time like "${MOMENT}".` }]);
  }
  return { body, payload: parsePayload(payloadFile, body), headers, query, receivedAt };
}

function readContext(file: string): Record<string, unknown> {
  const text = readIfThere(file);
  if (text === undefined) return {};
  const { value } = parseSource(file, text);
  if (isObject(value)) return value;
  throw new ConfigError([{ file, message: "Expected an object of headers, query and now." }]);
}

function parsePayload(file: string, body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new ConfigError([{ file, message: `It is no JSON: ${messageOf(error)}.` }]);
  }
}

/** The text of a file, undefined where there is none. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
