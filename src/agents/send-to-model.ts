import { pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type * as Undici from "undici";
import type { ModelApiAnswer, ModelApiRequest } from "../core/ports/agent.ts";
import { undici } from "../core/shared/net/undici.ts";
import { traceHeaders } from "../core/telemetry/traces.ts";

let dispatcher: Undici.Agent | undefined;

/**
 * Sends a request to the API of a provider. A redirect is an answer: followed, it would take the key and the prompt elsewhere.
 * Rejects as `fetch` does, which would take three times as much CPU: half of that of a turn.
 */
export async function sendToModel(url: string, request: ModelApiRequest): Promise<ModelApiAnswer> {
  const library = undici();
  // A turn's `timeoutSeconds` may be longer than the five minutes that are the default.
  dispatcher ??= new library.Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const headers = { "user-agent": "hookline", ...request.headers, ...traceHeaders() };
  try {
    const answered = await library.request(url, { ...request, headers, dispatcher });
    const { statusCode: status, headers: received, body } = answered;
    return { status, headers: received, body: decompress(body, received["content-encoding"]) };
  } catch (error) {
    throw request.signal?.aborted ? error : new TypeError("fetch failed", { cause: error });
  }
}

const DECODERS = new Map<unknown, () => NodeJS.ReadWriteStream & Readable>([
  ["gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** Nobody asks for it, and some servers compress all the same. */
function decompress(body: Readable, coding: unknown): Readable {
  const open = DECODERS.get(coding);
  // Who reads the result gets the failure of either.
  return open ? pipeline(body, open(), () => {}) : body;
}
