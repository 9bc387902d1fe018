import type { Command } from "commander";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { ConfigError } from "../core/errors.ts";
import type { EventTimeline, EventView, OperatorAnswers } from "../operator/views.ts";
import { parseExactAt } from "../core/shared/exact-json.ts";
import { parseObject } from "../core/shared/json.ts";
import { toBearer } from "../core/shared/secret.ts";
import { type ServiceFlags, Unreachable } from "./command.ts";
import { toServiceAddress } from "../core/shared/system/owner.ts";
import { causeOf, loadServiceConfig } from "./context.ts";
import { type CliIo, print, printJson } from "./io.ts";

/** Undefined fields are left out. */
type Query = Record<string, string | number | undefined>;

/** The operator API of a running service. Calls reject with a `ConfigError` when no such service answers. */
export interface OperatorClient {
  /** Resolves to the answer, whatever its status. */
  send(method: string, path: string, query?: Query, more?: { signal?: AbortSignal; body?: object }): Promise<Response>;
  /**
   * Calls an endpoint; rejects when it answers with an error. `id` fills in `:id` or `:key`, the rest is the query. `body` is
   * sent as JSON.
   */
  call<Endpoint extends keyof OperatorAnswers>(
    endpoint: Endpoint,
    parameters?: Query,
    body?: object,
  ): Promise<OperatorAnswers[Endpoint]>;
}

/** Takes address and token from the configuration. Throws a `ConfigError` when it has no gateway token. */
export async function createOperatorClient(flags: Omit<ServiceFlags, "json">, io: CliIo): Promise<OperatorClient> {
  const { config } = await loadServiceConfig(flags.config, io, /^gateway\b/);
  const { token } = config.gateway;
  if (!token) {
    const message = "The operator API is off without a gateway token: set one.";
    throw new ConfigError([{ message, file: config.file, key: "gateway.auth.token" }]);
  }
  const authorization = toBearer(token);
  const address = flags.url ?? toServiceAddress(config.gateway);

  const send: OperatorClient["send"] = async (method, path, query = {}, { signal, body } = {}) => {
    const url = new URL(path, address);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const content = body && {
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    return fetch(url, { method, headers: { authorization }, signal, ...content }).catch((error: unknown) => {
      throw toUnreachable(address, error);
    });
  };

  return {
    send,
    async call(endpoint, { id = "", ...query } = {}, body) {
      const [method = "", path = ""] = endpoint.split(" ");
      const response = await send(method, path.replace(/:\w+\*?/, encodeURIComponent(id)), query, { body });
      return parseEvent(await (await requireAnswer(response)).text());
    },
  };
}

/** Prints what the service answers: as JSON, or as lines for a person. */
export async function showAnswer<Answer>(
  flags: ServiceFlags,
  io: CliIo,
  ask: (client: OperatorClient) => Promise<Answer>,
  format: (answer: Answer) => string[],
): Promise<void> {
  const answer = await ask(await createOperatorClient(flags, io));
  if (flags.json) printJson(io, answer);
  else print(io, ...format(answer));
}

/**
 * Makes a command print what the service answers. `ask` also gets the arguments of the command line; `format` the width of the
 * terminal, if there is one.
 */
export function addAnswer<Answer, Flags extends ServiceFlags>(
  command: Command,
  io: CliIo,
  ask: (client: OperatorClient, flags: Flags, ...args: string[]) => Promise<Answer>,
  format: (answer: Answer, flags: Flags, width?: number) => string[],
): Command {
  return command.action(() => {
    const flags = command.opts<Flags>();
    return showAnswer(
      flags,
      io,
      (client) => ask(client, flags, ...command.processedArgs.flat()),
      (answer) => format(answer, flags, io.stdout.columns),
    );
  });
}

/** The error for a failed `fetch`. */
export function toUnreachable(address: string, error: unknown): ConfigError {
  const next = "Start it with `npx hookline dev` or `npx hookline serve`, or name its address with --url.";
  return new Unreachable([{ message: `No service answers at ${address} (${causeOf(error)}). ${next}` }]);
}

/** Throws a `ConfigError` unless this is a successful answer of the operator API. */
export async function requireAnswer(response: Response): Promise<Response> {
  const { ok, status, url, headers } = response;
  // JSON, or application/x-ndjson.
  if (ok && /json/.test(headers.get("content-type") ?? "")) return response;
  const { code, error } = parseObject(await response.text());
  const server = `The server at ${new URL(url).origin} is not a Hookline service (status ${status})`;
  const message =
    typeof code === "string" && typeof error === "string"
      ? `${status} ${code}: ${error}`
      : `${server}: name the service's address with --url.`;
  throw new ConfigError([{ message }]);
}

/** The first of them, at most `limit`. */
export async function takeFirst<Item>(items: AsyncIterable<Item>, limit: number): Promise<Item[]> {
  const taken: Item[] = [];
  for await (const item of items) if (taken.push(item) === limit) break;
  return taken;
}

export interface FilterFlags extends ServiceFlags {
  hook?: string;
  status?: string;
  /** Received at this time or later, and before `until`, in ISO 8601. */
  since?: string;
  until?: string;
}

/** In place of an id: the newest event. */
export const LAST = "last";

/** The id that begins so. Throws a `ConfigError` if there is none, or several. */
export async function findId(client: OperatorClient, start: string): Promise<string> {
  const query = start === LAST ? { limit: 1 } : { prefix: start, limit: 5 };
  const { events } = await client.call("GET /api/events", query);
  const [event, other] = events;
  if (event && !other) return event.id;
  const found = events.map(({ id }) => id).join(", ");
  const none = start === LAST ? "No event has been received yet." : `No event has the id ${start}.`;
  const message = event
    ? `Several events begin with ${start}, such as ${found}.`
    : `${none} \`npx hookline events list\` shows them.`;
  throw new ConfigError([{ message }]);
}

/** The payload of an event keeps its long numbers as they came. */
export function parseEvent(text: string): ReturnType<typeof JSON.parse> {
  return parseExactAt(text, ["request", "payload"]);
}

/** Everything about the event whose id begins so. */
export async function readEvent(client: OperatorClient, start: string): Promise<EventTimeline> {
  return client.call("GET /api/events/:id", { id: await findId(client, start) });
}

/** Everything about all events of a hook since then, newest first. */
export async function* exportEvents(
  client: OperatorClient,
  query: { hook?: string; since: string },
): AsyncGenerator<EventTimeline> {
  const { body } = await requireAnswer(await client.send("GET", "/api/events/export", query));
  if (!body) return;
  for await (const line of createInterface({ input: Readable.fromWeb(body), crlfDelay: Infinity })) {
    yield parseEvent(line);
  }
}

const PAGE_SIZE = 500;

/** The events that the flags choose, newest first. */
export async function* listEvents(client: OperatorClient, flags: FilterFlags): AsyncGenerator<EventView> {
  const { hook, status, since = "", until = "~" } = flags;
  let before: string | undefined;
  do {
    const query = { hook, status, before, limit: PAGE_SIZE };
    const { events, more } = await client.call("GET /api/events", query);
    for (const event of events) {
      // Newest first: all that follow are older. ISO 8601 times sort as text.
      if (event.receivedAt < since) return;
      if (event.receivedAt < until) yield event;
    }
    before = more ?? (events.length === PAGE_SIZE ? events.at(-1)?.id : undefined);
  } while (before !== undefined);
}
