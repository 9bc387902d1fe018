import { isRequest } from "../../src/core/shared/words.ts";
import { setTimeout as sleep } from "node:timers/promises";

/** A JSON body, loosely typed so that tests can read any field. */
type Json = ReturnType<typeof JSON.parse>;

/** An HTTP response with its parsed body. */
export interface Answer {
  status: number;
  headers: Headers;
  body: Json;
}

export interface Client {
  /** POSTs JSON to a hook with the hook token. */
  post(hook: string, payload: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** POSTs a dry run of a hook with the gateway token; `mapping`: one that is being written. */
  try(hook: string, payload: unknown, headers?: Record<string, string>, mapping?: object): Promise<Json>;
  /** GETs from the operator API with the gateway token. */
  api(path: string): Promise<Json>;
  /** Calls the operator API with the gateway token, whatever it answers. */
  operate(method: string, path: string, body?: object): Promise<Answer>;
  /** Waits until the event is executed, and returns its timeline. */
  settled(eventId: string): Promise<Json>;
}

/** A client of a running service. */
export function createClient(url: string, tokens: { hookToken: string; gatewayToken: string }): Client {
  const api: Client["api"] = async (path) => {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${tokens.gatewayToken}` } });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return {
    api,
    async try(hook, payload, headers, mapping) {
      const response = await fetch(`${url}/api/try`, {
        method: "POST",
        headers: { authorization: `Bearer ${tokens.gatewayToken}`, "content-type": "application/json" },
        body: JSON.stringify({ hook, payload, headers, mapping }),
      });
      return response.json();
    },
    async post(hook, payload, headers = {}) {
      const response = await fetch(`${url}/hooks/${hook}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${tokens.hookToken}`,
          "content-type": "application/json",
          ...headers,
        },
        body: JSON.stringify(payload),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === "" ? undefined : JSON.parse(text),
      };
    },
    async operate(method, path, body) {
      const headers = { authorization: `Bearer ${tokens.gatewayToken}`, "content-type": "application/json" };
      const init = { method, headers, body: body && JSON.stringify(body) };
      const response = await fetch(url + path, init);
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    async settled(eventId) {
      let event: Json;
      const what = (): string => `an event to be executed: ${JSON.stringify(event, undefined, 2)}`;
      await waitFor(async () => {
        event = await api(`/api/events/${eventId}`);
        return !isRequest(event.status, "unfinished");
      }, what);
      return event;
    },
  };
}

type Nothing = undefined | null | false;

/** Milliseconds; long enough for a busy machine. */
const PATIENCE_MS = 120_000;

/** Between two questions, in milliseconds: each is longer than the one before. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [4, 100];

/** Polls until there is an answer. On timeout it rejects, and the error says what it waited for. */
export async function waitFor<Result>(
  ask: () => Result | Nothing | Promise<Result | Nothing>,
  what: string | (() => string) = "a condition",
  patienceMs = PATIENCE_MS,
): Promise<Result> {
  const deadline = performance.now() + patienceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const result = await ask();
    if (result !== undefined && result !== null && result !== false) return result;
    if (performance.now() > deadline) {
      throw new Error(`waited ${patienceMs} ms for ${typeof what === "string" ? what : what()}`);
    }
    await sleep(pauseMs);
  }
}
