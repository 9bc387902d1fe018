import assert from "node:assert/strict";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { DriverError, messageOf } from "../core/errors.ts";
import type { ApiAccess, ButtonPress, PersonMessage, Vendor, VerifiedEvent, WantedHook } from "../core/ports/vendor.ts";
import { isObject } from "../core/shared/json.ts";
import { withTimeout } from "../core/shared/time.ts";
import { silentLog } from "../core/telemetry/log.ts";

/** Stand-ins for what a vendor talks to. Each part of the vendor needs its own. */
export interface VendorDoubles {
  /** By channel: its block for an API at another address, and a recipient; null: it calls no HTTP API. */
  channels?: Record<string, { block(baseUrl: string): object; to: string } | null>;
  /** For `webhooks` and `openMissed`. */
  hooks?: {
    place?: string;
    account?: Record<string, unknown>;
    /** Names of its events, one at least. */
    events: string[];
    /** The id of a webhook. */
    id: string;
    /** Lists the webhooks as the API does, with one that posts to `url`, for calls that need one first; by path. */
    answers?(url: string): Record<string, unknown>;
  };
  /** Further answers with which the API says that a limit is reached, beside status 429. */
  limits?: Answer[];
  /** For `readMessage`: new messages of people, and what is read of them. */
  messages?: { event: VerifiedEvent; message: PersonMessage }[];
  /** For `readPress`: presses of our buttons, and what is read of them. */
  presses?: { event: VerifiedEvent; press: Omit<ButtonPress, "answer"> }[];
  /** For `readMessage` and `readPress`: everything else, such as edits, forwards, bots, apps, other events. */
  otherEvents?: VerifiedEvent[];
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/**
 * Tests a vendor against answers that every API gives: a limit, a refusal, a failure and the page of a proxy have one class at
 * each call of each part, and `readMessage` takes no other form of a message. Rejects with an error that names all that is wrong.
 */
export async function testVendor(vendor: Vendor, doubles: VendorDoubles): Promise<void> {
  const server = await startAnswering();
  try {
    const { uses, mistakes } = listUses(vendor, doubles, server.url);
    for (const use of uses) mistakes.push(...(await findMisclassified(use, doubles, server)));
    mistakes.push(...findMisread(vendor, doubles), ...findMispressed(vendor, doubles));
    assert.ok(mistakes.length === 0, `${vendor.service}:\n${mistakes.map((mistake) => `- ${mistake}`).join("\n")}`);
  } finally {
    await server.close();
  }
}

/** One call of a part of the vendor. */
interface Use {
  name: string;
  call(): Promise<unknown>;
  /** Answers to earlier calls, by path. */
  answers?: Record<string, unknown>;
}

const URL_OF_HOOK = "https://hooks.example.com/hooks/vendor";

function listUses(
  { channels = {}, webhooks, openMissed }: Vendor,
  doubles: VendorDoubles,
  baseUrl: string,
): { uses: Use[]; mistakes: string[] } {
  const uses: Use[] = [];
  const mistakes: string[] = [];
  for (const [name, { create }] of Object.entries(channels)) {
    const double = doubles.channels?.[name];
    if (double === undefined) mistakes.push(`channels.${name} has no double`);
    if (!double) continue;
    const { block, to } = double;
    uses.push({
      name: `channels.${name}: send`,
      async call() {
        const channel = await create(block(baseUrl), toContext(name));
        channel.checkRecipient(to);
        await channel.send({ to, text: "Hello.", idempotencyKey: "delivery-1:0" }, new AbortController().signal);
      },
    });
  }
  if (!webhooks && !openMissed) return { uses, mistakes };
  if (!doubles.hooks) return { uses, mistakes: [...mistakes, "webhooks and openMissed have no double: hooks"] };

  const { place, account = {}, events, id, answers } = doubles.hooks;
  const access: ApiAccess = { token: "token", baseUrl, place, account, signal: new AbortController().signal };
  const wanted: WantedHook = { url: URL_OF_HOOK, secret: "secret", events, all: false };
  if (webhooks) {
    const connect = () => webhooks.connect(access);
    const { test, findOther } = connect();
    uses.push(
      { name: "webhooks: find", call: () => connect().find(URL_OF_HOOK) },
      { name: "webhooks: create", call: () => connect().create(wanted) },
      { name: "webhooks: update", call: () => connect().update(id, wanted) },
      { name: "webhooks: remove", call: () => connect().remove(id) },
      { name: "webhooks: health", call: () => connect().health(id, events) },
      ...(test ? [{ name: "webhooks: test", call: async () => connect().test?.(id) }] : []),
      ...(findOther ? [{ name: "webhooks: findOther", call: async () => connect().findOther?.(URL_OF_HOOK) }] : []),
    );
  }
  if (openMissed) {
    const options = { url: URL_OF_HOOK, events, readKnown: async () => new Set<string>(), enter: async () => {} };
    const found = answers?.(URL_OF_HOOK);
    uses.push(
      { name: "openMissed", call: async () => (await openMissed(access, options)).find(0) },
      { name: "openMissed: find", call: async () => (await openMissed(access, options)).find(0), answers: found },
    );
  }
  return { uses, mistakes };
}

function toContext(name: string): Parameters<NonNullable<Vendor["channels"]>[string]["create"]>[1] {
  const folder = tmpdir();
  return {
    name,
    baseDir: folder,
    tempDir: folder,
    stateDir: folder,
    log: silentLog,
    compileTemplate: () => assert.fail("Templates are not compiled here."),
  };
}

const WAIT_MS = 7000;
const LIMIT: Answer = { status: 429, headers: { "retry-after": String(WAIT_MS / 1000) }, body: {} };
const PAGE: Answer = { status: 200, headers: { "content-type": "text/html" }, body: "<h1>Sign in</h1>" };

/** Longer than a correct vendor takes on a busy machine. */
const CALL_MS = 30_000;

async function findMisclassified(use: Use, { limits = [] }: VendorDoubles, server: AnsweringServer): Promise<string[]> {
  const mistakes: string[] = [];
  const cases: [name: string, answer: Answer, isRetryable: boolean][] = [
    ["a limit (429)", LIMIT, true],
    ...limits.map((limit, index): [string, Answer, boolean] => [`limits[${index}] (${limit.status})`, limit, true]),
    ["401", { status: 401, body: {} }, false],
    ["403", { status: 403, body: {} }, false],
    ["404", { status: 404, body: {} }, false],
    ["500", { status: 500, body: {} }, true],
    ["the page of a proxy", PAGE, true],
  ];
  for (const [name, answer, isRetryable] of cases) {
    const count = server.answer(answer, use.answers);
    const failure = await withTimeout(() => use.call(), {
      timeoutMs: CALL_MS,
      timeoutError: () => new Error("the call did not end"),
    }).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (count() === 0) {
      const why = failure === undefined ? "" : `: ${messageOf(failure)}`;
      return [...mistakes, `${use.name}: sent no request to the double${why}`];
    }
    // A webhook that is gone is removed.
    if (failure === undefined && answer.status === 404 && use.name === "webhooks: remove") continue;
    const mistake = judge(failure, isRetryable, answer === LIMIT);
    if (mistake !== undefined) mistakes.push(`${use.name}: ${name} ${mistake}`);
  }
  return mistakes;
}

function judge(failure: unknown, isRetryable: boolean, hasTime: boolean): string | undefined {
  if (failure === undefined) return "is taken for a success";
  if (!(failure instanceof DriverError)) return `rejects with no DriverError: ${messageOf(failure)}`;
  const expected = isRetryable ? "retryable" : "permanent";
  if (failure.retryable !== isRetryable) return `must be ${expected}: ${failure.message}`;
  return hasTime && failure.retryAfterMs !== WAIT_MS
    ? `must have the time of Retry-After: ${failure.message}`
    : undefined;
}

interface AnsweringServer {
  url: string;
  /** From now on, gives this answer to all paths but these. Returns how many requests have come since. */
  answer(answer: Answer, others?: Record<string, unknown>): () => number;
  close(): Promise<void>;
}

async function startAnswering(): Promise<AnsweringServer> {
  let current: { answer: Answer; others: Record<string, unknown> } = { answer: PAGE, others: {} };
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    const { answer, others } = current;
    const path = request.url ?? "";
    const {
      status,
      headers = {},
      body = {},
    } = Object.hasOwn(others, path) ? { status: 200, body: others[path] } : answer;
    request.resume();
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The double has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    answer(answer, others = {}) {
      current = { answer, others };
      requests = 0;
      return () => requests;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Values that stand where a message has a value of another type. */
const ODD: readonly unknown[] = [null, "", 5, {}, [], [{}], true];

function findMisread({ readMessage }: Vendor, { messages = [], otherEvents = [] }: VendorDoubles): string[] {
  if (!readMessage) return [];
  if (messages.length === 0 || otherEvents.length === 0) return ["readMessage needs messages and otherEvents"];
  const mistakes: string[] = [];
  const read = (event: VerifiedEvent, what: string): PersonMessage | undefined => {
    try {
      return readMessage(event);
    } catch (error) {
      mistakes.push(`readMessage: throws for ${what}: ${messageOf(error)}`);
      return undefined;
    }
  };
  for (const [index, event] of otherEvents.entries()) {
    if (read(event, `otherEvents[${index}]`)) mistakes.push(`readMessage: takes otherEvents[${index}] for a message`);
  }
  for (const [index, { event, message }] of messages.entries()) {
    const name = `messages[${index}]`;
    const whole = read(event, name);
    if (!isDeepStrictEqual(withoutUndefined(whole), withoutUndefined(message)))
      mistakes.push(`readMessage: reads ${name} as ${JSON.stringify(whole)}`);
    if (read({ payload: {}, headers: {} }, "an empty payload")) mistakes.push("readMessage: takes an empty payload");
    for (const at of listPaths(event.payload)) {
      const place = `${name} with ${at.join(".")}`;
      const without = read({ ...event, payload: change(event.payload, at) }, `${place} missing`);
      if (without && !isSameMessage(without, message)) mistakes.push(`readMessage: takes ${place} missing`);
      const usual = readAt(event.payload, at);
      const taken = [...ODD, [usual]].filter((odd) => {
        if (typeof odd === typeof usual && ["number", "boolean"].includes(typeof odd)) return false;
        const found = read({ ...event, payload: change(event.payload, at, odd) }, `${place} = ${JSON.stringify(odd)}`);
        // A field that does not matter may be anything.
        return found && !(without && [whole, without].some((known) => isDeepStrictEqual(found, known)));
      });
      if (taken.length > 0)
        mistakes.push(`readMessage: takes ${place} = ${taken.map((odd) => JSON.stringify(odd)).join(", ")}`);
    }
  }
  return mistakes;
}

function findMispressed({ readPress }: Vendor, { presses = [], otherEvents = [] }: VendorDoubles): string[] {
  if (!readPress) return [];
  if (presses.length === 0) return ["readPress needs presses"];
  const mistakes: string[] = [];
  const read = (event: VerifiedEvent, what: string): Omit<ButtonPress, "answer"> | undefined => {
    try {
      const { answer: _, ...press } = readPress(event) ?? { answer: undefined, value: "" };
      return "person" in press ? press : undefined;
    } catch (error) {
      mistakes.push(`readPress: throws for ${what}: ${messageOf(error)}`);
      return undefined;
    }
  };
  for (const event of [...otherEvents, { payload: {}, headers: {} }])
    if (read(event, "another event")) mistakes.push(`readPress: takes another event: ${JSON.stringify(event.payload)}`);
  for (const { event, press } of presses) {
    const whole = read(event, "a press");
    if (!isDeepStrictEqual(whole, press)) mistakes.push(`readPress: reads a press as ${JSON.stringify(whole)}`);
    for (const { payload, what } of listChanges(event.payload)) {
      const found = read({ ...event, payload }, what);
      const isSame = found?.value === press.value && found.messageId === press.messageId;
      const isText = found && Object.values(found).every((part) => typeof part === "string" && part !== "");
      if (found && !(isSame && isText)) mistakes.push(`readPress: takes ${what} as ${JSON.stringify(found)}`);
    }
  }
  return mistakes;
}

/** Another field may say where a message is, but not what it is, and whose. */
function isSameMessage(one: PersonMessage, other: PersonMessage): boolean {
  return one.text === other.text && one.person === other.person && one.messageId === other.messageId;
}

function withoutUndefined(message: PersonMessage | undefined): unknown {
  return message && Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined));
}

/** Each field of a payload, missing and of another type. Another number is another message. */
function listChanges(payload: Record<string, unknown>): { payload: Record<string, unknown>; what: string }[] {
  return listPaths(payload).flatMap((at) => {
    const isNumber = typeof readAt(payload, at) === "number";
    const odd = ODD.filter((one) => !isNumber || typeof one !== "number");
    return [
      { payload: change(payload, at), what: `${at.join(".")} missing` },
      ...odd.map((one) => ({ payload: change(payload, at, one), what: `${at.join(".")} = ${JSON.stringify(one)}` })),
    ];
  });
}

type Path = readonly string[];

function listPaths(value: unknown, at: Path = []): Path[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, child]) => [[...at, key], ...listPaths(child, [...at, key])]);
}

function readAt(value: unknown, [key, ...rest]: Path): unknown {
  return key === undefined ? value : readAt(isObject(value) ? value[key] : undefined, rest);
}

/** A copy with another value at a place; without the place if there is none. */
function change(
  value: Record<string, unknown>,
  [key = "", ...rest]: Path,
  ...given: unknown[]
): Record<string, unknown> {
  const { [key]: old, ...others } = value;
  if (rest.length > 0) return { ...others, [key]: isObject(old) ? change(old, rest, ...given) : old };
  return given.length > 0 ? { ...others, [key]: given[0] } : others;
}
