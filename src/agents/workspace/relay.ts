import { closeSync, openSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../../core/errors.ts";
import type { ModelApi, ModelApiAnswer, ModelFormat, OwnCalls, TokenUsage } from "../../core/ports/agent.ts";
import { isObject, parseJson } from "../../core/shared/json.ts";
import { answerMessage } from "./call-server.ts";
import { openHosts, type HostsOptions } from "./hosts.ts";
import { prepareModelRequest, RefusedRequest } from "./model-request.ts";
import { addUsage, readUsage, subtractUsage, type UsageReader } from "./model-usage.ts";

export interface RelayOptions {
  /** The model that the agent may ask. Absent: none. */
  model?: RelayModel;
  /** The calls that the agent may make. Absent: none. */
  calls?: OwnCalls;
  /** Where the agent may connect, as `name` or `name:port`. Absent: nowhere. */
  hosts?: HostsOptions;
}

export interface RelayModel {
  api: ModelApi;
  /** The name in the configuration. */
  name: string;
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
  /** The tokens since this was last asked. */
  takeUsage(): TokenUsage | undefined;
  /** Ends every connection. */
  close(): void;
}

const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MAX_MESSAGE_BYTES = 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** Requests that are forwarded, by method and path. */
const ROUTES: Record<string, { path: string; format?: ModelFormat }> = {
  "POST /model/v1/chat/completions": { path: "chat/completions", format: "chat" },
  "POST /model/v1/responses": { path: "responses", format: "responses" },
  "POST /model/v1/messages": { path: "messages", format: "messages" },
  "POST /model/v1/messages/count_tokens": { path: "messages/count_tokens", format: "messages" },
  "GET /model/v1/models": { path: "models" },
};

/** The calls of the turn, by the Model Context Protocol. */
export const CALLS_PATH = "/mcp";

/** Headers of a request that say what its body means, and of an answer what to do with it. */
const REQUEST_HEADERS = ["accept", "anthropic-version", "anthropic-beta"];
const RESPONSE_HEADERS = ["content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id"];

/**
 * The only way out of a box: the model of its provider, whose key it adds, the calls of the turn, and the hosts of the configuration. It serves one turn.
 * `folder`: where its socket is made.
 */
export async function startRelay(folder: string, { model, calls, hosts }: RelayOptions): Promise<Relay> {
  let taken: TokenUsage = {};
  let usage: TokenUsage | undefined;
  /** The readers of answers that are still coming. */
  const open = new Set<UsageReader>();
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
    takeUsage,
    close() {
      ended.abort();
      server.close(() => closeSync(descriptor));
      connections.forEach((socket) => socket.destroy());
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const [target = ""] = url.split("?", 1);
    if (target === CALLS_PATH && calls) return answerCalls(calls, request, response);
    const route = ROUTES[`${method} ${target}`];
    if (!route || !model) throw new RefusedRequest("This is not offered here.", 404);
    const { format } = route;
    const { api, id } = model;
    if (format && !api.formats.includes(format)) {
      const spoken = api.formats.join(", ");
      throw new RefusedRequest(`${api.name} does not speak this format. It speaks: ${spoken}.`, 404);
    }
    const written = format && (await readBody(request));
    // Nothing is awaited between here and the reader below, so that requests at the same time see each other.
    const spent = [...open].reduce((sum, reader) => addUsage(sum, reader.soFar()), usage ?? {});
    if (model.isSpent(spent)) throw new RefusedRequest("The turn has spent agents.budget.perRun.", 429);
    const body = written && format && JSON.stringify(prepareModelRequest(written, { format, model: id }));
    const reader = body === undefined ? undefined : readUsage(body.length);
    if (reader) open.add(reader);
    try {
      const answered = await api.send(route.path, {
        method,
        headers: pickHeaders(request.headers, REQUEST_HEADERS),
        body,
        signal: AbortSignal.any([toGone(response), ended.signal]),
      });
      const { status, headers } = answered;
      if (status < 200 || status > 299) return await passRefusal(answered, response);
      response.writeHead(status, pickHeaders(headers, RESPONSE_HEADERS));
      await passAnswer(answered, response, reader);
    } finally {
      if (reader) open.delete(reader);
    }
  }

  function takeUsage(): TokenUsage | undefined {
    const since = usage && subtractUsage(usage, taken);
    taken = usage ?? {};
    return since;
  }

  /** Without a session: the calls are those of this turn. */
  async function answerCalls(offered: OwnCalls, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST") return void response.writeHead(405, { allow: "POST" }).end();
    const message = await readBody(request, MAX_MESSAGE_BYTES);
    const counted: OwnCalls = {
      ...offered,
      execute: (call, gone) => offered.execute({ ...call, usage: takeUsage(), usedBy: model?.name }, gone),
    };
    const answered = await answerMessage(message, counted, AbortSignal.any([toGone(response), ended.signal]));
    if (answered === undefined) return void response.writeHead(202).end();
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answered));
  }

  async function passAnswer(
    { headers, body }: ModelApiAnswer,
    response: ServerResponse,
    reader?: UsageReader,
  ): Promise<void> {
    const isStream = headers["content-type"]?.includes("event-stream") === true;
    try {
      await pipeline(
        body,
        async function* (chunks: AsyncIterable<Uint8Array>) {
          for await (const chunk of chunks) {
            reader?.read(chunk, isStream);
            yield chunk;
          }
        },
        response,
      );
    } catch {
      // The agent has gone, or the provider has. What was said until then counts.
      response.destroy();
    } finally {
      if (reader) usage = addUsage(usage ?? {}, reader.finish());
    }
  }

  /** A provider quotes the key that it refuses. */
  async function passRefusal({ status, headers, body }: ModelApiAnswer, response: ServerResponse): Promise<void> {
    const name = model?.api.name ?? "";
    const text = await readStart(body, MAX_ERROR_BYTES);
    if (status < 400) return refuse(response, 502, `${name} answered ${status}: redirects are not followed.`);
    if (status === 401 || status === 403)
      return refuse(response, status, `${name} has refused the key of the service.`);
    response.writeHead(status, pickHeaders(headers, RESPONSE_HEADERS)).end(model?.api.hide(text));
  }
}

/** Aborts if the answer cannot be sent as a whole. */
function toGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

async function readBody(request: IncomingMessage, maxBytes = MAX_BODY_BYTES): Promise<Record<string, unknown>> {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new RefusedRequest("The body must not be compressed.", 415);
  const body: AsyncIterable<Buffer> = request;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new RefusedRequest(`The body has over ${maxBytes} bytes.`, 413);
    chunks.push(chunk);
  }
  const written = parseJson(Buffer.concat(chunks).toString("utf8"));
  if (!isObject(written)) throw new RefusedRequest("The body must be a JSON object.");
  return written;
}

function pickHeaders(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const sent = names.filter((name) => headers[name]);
  return Object.fromEntries(sent.map((name) => [name, String(headers[name])]));
}

async function readStart(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
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
