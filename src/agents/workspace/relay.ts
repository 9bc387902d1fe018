import { closeSync, openSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../../core/errors.ts";
import type { ModelApi, ModelFormat, TokenUsage } from "../../core/ports/agent.ts";
import { isObject, parseJson } from "../../core/shared/json.ts";
import { openHosts, type HostsOptions } from "./hosts.ts";
import { prepareModelRequest, RefusedRequest } from "./model-request.ts";
import { addUsage, readUsage } from "./model-usage.ts";

export interface RelayOptions {
  /** The model that the agent may ask. Absent: none. */
  model?: RelayModel;
  /** Where the agent may connect, as `name` or `name:port`. Absent: nowhere. */
  hosts?: HostsOptions;
}

export interface RelayModel {
  api: ModelApi;
  /** The model of the provider. */
  id: string;
  /** Whether the turn has used up its budget. */
  isSpent(usage: TokenUsage): boolean;
}

export interface Relay {
  /** Its Unix socket. */
  socket: string;
  /** The tokens of the turn so far; undefined if it asked no model. */
  usage(): TokenUsage | undefined;
  /** Ends every connection. */
  close(): void;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** Requests that are forwarded, by method and path. */
const ROUTES: Record<string, { path: string; format?: ModelFormat }> = {
  "POST /model/v1/chat/completions": { path: "chat/completions", format: "chat" },
  "POST /model/v1/responses": { path: "responses", format: "responses" },
  "POST /model/v1/messages": { path: "messages", format: "messages" },
  "POST /model/v1/messages/count_tokens": { path: "messages/count_tokens", format: "messages" },
  "GET /model/v1/models": { path: "models" },
};

/** Headers of a request that say what its body means, and of an answer what to do with it. */
const REQUEST_HEADERS = ["accept", "anthropic-version", "anthropic-beta"];
const RESPONSE_HEADERS = ["content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id"];

/**
 * The only way out of a box: the model of its provider, whose key it adds, and the hosts of the configuration. It serves one turn.
 * `folder`: where its socket is made.
 */
export async function startRelay(folder: string, { model, hosts }: RelayOptions): Promise<Relay> {
  let usage: TokenUsage | undefined;
  const connections = new Set<Socket>();
  const ended = new AbortController();
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    answer(request, response).catch((error: unknown) =>
      refuse(response, error instanceof RefusedRequest ? error.status : 502, messageOf(error)),
    );
  });
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket)).on("error", () => socket.destroy());
  });
  server.on("connect", openHosts(hosts ?? { names: [] }));
  // By the folder's descriptor, since the path of a socket may have 107 bytes only.
  const descriptor = openSync(folder, "r");
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(`/proc/self/fd/${descriptor}/relay`, resolve);
  });
  return {
    socket: path.join(folder, "relay"),
    usage: () => usage,
    close() {
      ended.abort();
      server.close(() => closeSync(descriptor));
      connections.forEach((socket) => socket.destroy());
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const [target = ""] = url.split("?", 1);
    const route = ROUTES[`${method} ${target}`];
    if (!route || !model) throw new RefusedRequest("This is not offered here.", 404);
    const { format } = route;
    const { api, id } = model;
    if (format && !api.formats.includes(format)) {
      const spoken = api.formats.join(", ");
      throw new RefusedRequest(`${api.name} does not speak this format. It speaks: ${spoken}.`, 404);
    }
    if (model.isSpent(usage ?? {})) throw new RefusedRequest("The turn has spent agents.budget.perRun.", 429);
    const body = format && JSON.stringify(prepareModelRequest(await readBody(request), { format, model: id }));
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const answered = await api.send(route.path, {
      method,
      headers: pickHeaders((name) => request.headers[name], REQUEST_HEADERS),
      body,
      signal: AbortSignal.any([gone.signal, ended.signal]),
    });
    if (!answered.ok) return passRefusal(answered, response);
    response.writeHead(
      answered.status,
      pickHeaders((name) => answered.headers.get(name), RESPONSE_HEADERS),
    );
    await passAnswer(answered, response, body?.length);
  }

  /** `requestLength`: of a request that is counted. */
  async function passAnswer(answered: Response, response: ServerResponse, requestLength?: number): Promise<void> {
    const isStream = answered.headers.get("content-type")?.includes("event-stream") === true;
    const reader = readUsage({ isStream, requestLength: requestLength ?? 0 });
    try {
      await pipeline(
        Readable.from(answered.body ?? []),
        async function* (chunks: AsyncIterable<Uint8Array>) {
          for await (const chunk of chunks) {
            reader.read(chunk);
            yield chunk;
          }
        },
        response,
      );
    } catch {
      // The agent has gone, or the provider has. What was said until then counts.
      response.destroy();
    } finally {
      if (requestLength !== undefined) usage = addUsage(usage ?? {}, reader.finish());
    }
  }

  /** A provider quotes the key that it refuses. */
  async function passRefusal(answered: Response, response: ServerResponse): Promise<void> {
    const { status } = answered;
    const name = model?.api.name ?? "";
    const text = await readStart(answered, MAX_ERROR_BYTES);
    if (status < 400) return refuse(response, 502, `${name} answered ${status}: redirects are not followed.`);
    if (status === 401 || status === 403)
      return refuse(response, status, `${name} has refused the key of the service.`);
    const kept = pickHeaders((header) => answered.headers.get(header), RESPONSE_HEADERS);
    response.writeHead(status, kept).end(model?.api.hide(text));
  }
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new RefusedRequest("The body must not be compressed.", 415);
  const body: AsyncIterable<Buffer> = request;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new RefusedRequest(`The body has over ${MAX_BODY_BYTES} bytes.`, 413);
    chunks.push(chunk);
  }
  const written = parseJson(Buffer.concat(chunks).toString("utf8"));
  if (!isObject(written)) throw new RefusedRequest("The body must be a JSON object.");
  return written;
}

function pickHeaders(
  read: (name: string) => string | string[] | null | undefined,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = read(name);
      return value ? [[name, String(value)]] : [];
    }),
  );
}

async function readStart(answered: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answered.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString("utf8");
}

/** In the form of OpenAI's and Anthropic's errors alike. 429: another attempt would be refused too. */
function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy();
  const type = status === 429 ? "rate_limit_error" : status < 500 ? "invalid_request_error" : "api_error";
  response.writeHead(status, {
    "content-type": "application/json",
    "x-should-retry": String(status >= 500),
    // The rest of a body that is too long is not read.
    ...(status === 413 && { connection: "close" }),
  });
  response.end(JSON.stringify({ type: "error", error: { type, code: type, message } }));
}
