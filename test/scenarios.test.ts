/**
 * One scenario per folder: `config.json`, files beside it, `steps.json` (requests and their answers, in order) and optionally
 * `after.json` (what the operator API shows after the last event was executed). Each runs twice: over a socket, and through
 * `handle` in this process. A string `/…/` in an expectation is a regular expression.
 */
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { githubPayload } from "./support/vendors/github.ts";
import { HOOK_TOKEN, type Service, startService } from "./support/service.ts";

interface Step {
  hook: string;
  method?: string;
  headers?: Record<string, string>;
  /** A string is sent unchanged, anything else as JSON. */
  body?: unknown;
  /** GitHub's example of an event instead of `body`. */
  github?: { event: string; fields?: Record<string, unknown> };
  expected: { status: number; headers?: Record<string, string>; body?: unknown };
}

const folder = path.join(import.meta.dirname, "scenarios");
const transports = {
  socket: (service: Service, request: Request) => fetch(request),
  "in process": (service: Service, request: Request) => service.hookline.handle(request),
};

let service: Service | undefined;
afterEach(async () => {
  await service?.close();
  service = undefined;
});

describe.each(readdirSync(folder))("%s", (name) => {
  test.each(Object.keys(transports) as (keyof typeof transports)[])("%s", async (transport) => {
    const scenario = path.join(folder, name);
    service = await startService({
      config: readJson(path.join(scenario, "config.json")),
      prepare: (target) => cpSync(scenario, target, { recursive: true }),
    });
    let eventId: string | undefined;
    for (const step of readJson<Step[]>(path.join(scenario, "steps.json"))) {
      const response = await transports[transport](service, toRequest(service.url, step));
      const text = await response.text();
      const answer = {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: parse(text),
      };
      expect(answer).toMatchObject(toMatcher(step.expected) as object);
      eventId = answer.body?.eventId ?? eventId;
      if (answer.status < 300 && eventId) await service.settled(eventId);
    }
    const after = path.join(scenario, "after.json");
    if (existsSync(after)) await expectAfter(service, eventId, readJson(after));
  });
});

async function expectAfter(
  running: Service,
  eventId: string | undefined,
  after: Record<string, unknown>,
): Promise<void> {
  for (const [place, expected] of Object.entries(after)) {
    const show = () => running.api(place.replace("{eventId}", eventId ?? ""));
    await expect.poll(show).toMatchObject(toMatcher(expected) as object);
  }
}

function toRequest(url: string, { hook, method = "POST", headers, body, github }: Step): Request {
  const payload = github ? githubPayload(github.event, github.fields) : body;
  return new Request(`${url}/hooks/${hook}`, {
    method,
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, "content-type": "application/json", ...headers },
    body: method === "GET" ? undefined : typeof payload === "string" ? payload : JSON.stringify(payload),
  });
}

function toMatcher(expected: unknown): unknown {
  if (typeof expected === "string" && /^\/.+\/$/s.test(expected)) {
    return expect.stringMatching(new RegExp(expected.slice(1, -1)));
  }
  if (Array.isArray(expected)) return expected.map(toMatcher);
  if (typeof expected !== "object" || expected === null) return expected;
  return Object.fromEntries(Object.entries(expected).map(([name, value]) => [name, toMatcher(value)]));
}

function parse(text: string) {
  return text === "" ? undefined : JSON.parse(text);
}

function readJson<Value>(file: string): Value {
  return JSON.parse(readFileSync(file, "utf8"));
}
