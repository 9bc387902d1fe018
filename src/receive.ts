import { setTimeout as sleep } from "node:timers/promises";
import { toSystemEvent } from "./actions/heartbeat.ts";
import { HookError } from "./errors.ts";
import type { FindParser } from "./ingress/parse-body.ts";
import { receiptToResponse } from "./ingress/exchange.ts";
import { fingerprintOf, idempotencyScope, toEvent, toRefusedEvent } from "./journal/event.ts";
import type { AcceptResult, EventRecord, Journal, NewEvent } from "./journal/journal.ts";
import { isBuiltInHook } from "./mapping/mapping-index.ts";
import { resolveRequest } from "./mapping/resolve.ts";
import { toReplayRequest } from "./operator/stored-events.ts";
import type { Program } from "./program/build.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import { type Describe, inSpan } from "./telemetry/traces.ts";
import type { TransformRunner } from "./transforms/runner.ts";
import type { HookRequest, HttpResponse, Resolution } from "./types.ts";

export interface ReceiverParts {
  current(): Program;
  sandbox: TransformRunner;
  journal: Journal;
  telemetry: Telemetry;
  findParser: FindParser;
}

export interface Receiver {
  /** Whether `receive` would parse a body that is not parsed. If not, it refuses an invalid one all the same. */
  readsPayload(request: HookRequest): boolean;
  /** Takes a verified request through mapping and journal to its answer, or repeats the answer to its idempotency key. */
  receive(request: HookRequest): Promise<HttpResponse>;
  /** Runs a stored request again, through the current mappings and without an idempotency key. */
  replay(event: EventRecord): Promise<HttpResponse>;
  /** Stores the handshake of a sender as a skipped event. Never rejects: the answer does not depend on it. */
  recordHandshake(request: HookRequest, note: string | undefined): Promise<void>;
  /** Stores a refused request for the operator. Never rejects: the refusal does not depend on it. */
  record(request: HookRequest, error: HookError): Promise<void>;
}

/** Connects the ingress with the mappings and the journal. A 2xx is only answered after the commit. */
export function createReceiver({ current, sandbox, journal, telemetry, findParser }: ReceiverParts): Receiver {
  const { log } = telemetry;
  const backlog = createBacklogGuard(journal, () => current().config.hooks.maxPending);
  const run: TransformRunner["run"] = (bundle, call) => inSpan("transform", () => sandbox.run(bundle, call));
  return { readsPayload, receive, replay, record, recordHandshake };

  function readsPayload(request: HookRequest): boolean {
    const { mappings, config } = current();
    const { idempotencyKey } = request;
    // What comes before the transform must not be answered to an invalid body, nor what it hides be stored.
    return (
      idempotencyKey !== undefined ||
      config.hooks.redact.length > 0 ||
      !backlog.hasRoom() ||
      mappings.readsPayload(request)
    );
  }

  async function receive(request: HookRequest): Promise<HttpResponse> {
    backlog.requireRoom();
    const program = current();
    const known = request.idempotencyKey === undefined ? undefined : await findReplay(request, request.idempotencyKey);
    if (known) return toAnswer(known);
    const startedAt = performance.now();
    const resolution = await resolve(request, program, { startedAt });
    return commit(request, resolution, { program, startedAt });
  }

  function replay(event: EventRecord): Promise<HttpResponse> {
    return inSpan("replay", async () => {
      backlog.requireRoom();
      const program = current();
      const request = await toReplayRequest(event, findParser);
      const startedAt = performance.now();
      const resolution = await resolve(request, program, { startedAt, isEcho: async () => false });
      return commit(request, { ...resolution, idempotency: undefined }, { program, startedAt });
    });
  }

  function findReplay(request: HookRequest, key: string): Promise<AcceptResult | undefined> {
    return journal.findReplay(idempotencyScope(request), key, fingerprintOf(request));
  }

  function resolve(
    request: HookRequest,
    { mappings, config, channels }: Program,
    { startedAt, isEcho = isDelivered }: { startedAt: number; isEcho?: typeof isDelivered },
  ): Promise<Resolution> {
    const map = (): Promise<Resolution> =>
      inSpan("mapping", (describe) => {
        const resolving = resolveRequest(request, { mappings, config, channels, run, isEcho });
        return describe ? resolving.then((resolution) => describeResolution(resolution, describe)) : resolving;
      });
    // There can have been a reload since `readsPayload` was asked.
    const isUnread = request.payload === undefined && readsPayload(request);
    const resolving = isUnread ? parse(request).then(map) : map();
    return resolving.catch((error: unknown) => refuse(request, error, startedAt));
  }

  async function refuse(request: HookRequest, thrown: unknown, startedAt: number): Promise<never> {
    const error = (await findFlaw(request)) ?? thrown;
    // A hook that does not exist is kept with the other rejections: a sender's typing error must not fill the journal.
    if (error instanceof HookError && error.code !== "not_found") {
      await record(request, error, performance.now() - startedAt);
    }
    throw error;
  }

  /** The error of a body that is not parsed yet: it takes precedence over all others. */
  async function findFlaw(request: HookRequest): Promise<unknown> {
    return request.payload === undefined ? parse(request).catch((flaw: unknown) => flaw) : undefined;
  }

  async function parse(request: HookRequest): Promise<void> {
    Object.assign(request, await findParser(request.contentType)(request.rawBody));
  }

  /** A service may send its event before it answers the delivery, so a delivery that is being sent is waited for. */
  async function isDelivered(messageId: string): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < ECHO_WAIT_MS; waitedMs += ECHO_STEP_MS) {
      const wasSent = await journal.wasSent(messageId, Date.now() - current().config.hooks.dedupeWindowMs);
      if (wasSent !== undefined) return wasSent;
      await sleep(ECHO_STEP_MS);
    }
    return false;
  }

  /** `startedAt`: when its mapping was asked, on the clock of `performance`. */
  function commit(
    request: HookRequest,
    resolution: Resolution,
    { program, startedAt }: { program: Program; startedAt: number },
  ): Promise<HttpResponse> {
    const { dedupeWindowMs, redact } = program.config.hooks;
    const mappedAt = performance.now();
    const mappingMs = mappedAt - startedAt;
    const event = toEvent(request, resolution, { toSystemEvent, dedupeWindowMs, redact, mappingMs });
    // Nothing needs the parsed payload any more. Kept until the commit, it would survive a garbage collection, which copies it.
    request.payload = undefined;
    return inSpan("commit", () => journal.accept(event)).then((result) => {
      telemetry.follower?.changed(event.id);
      if (result.kind === "committed") {
        measure(event, { mappingMs, commitMs: performance.now() - mappedAt });
        backlog.add(resolution.actions.filter(({ kind }) => kind === "agent").length);
      }
      return toAnswer(result, resolution);
    });
  }

  function measure({ mapping, hook, status }: NewEvent, times: { mappingMs?: number; commitMs?: number } = {}): void {
    telemetry.activity.recorded({ mapping: mapping ?? (isBuiltInHook(hook) ? hook : undefined), status, ...times });
  }

  async function recordHandshake(request: HookRequest, note: string | undefined): Promise<void> {
    const { id: eventId, hook } = request;
    log.info("handshake answered", { eventId, hook });
    const reason = `handshake${note === undefined ? "" : `: ${note}`}`;
    const { redact, dedupeWindowMs } = current().config.hooks;
    const event = toEvent(
      request,
      { actions: [], reason, warnings: [], log: [] },
      { toSystemEvent, redact, dedupeWindowMs },
    );
    await journal.accept(event).catch((error: unknown) => {
      log.error("handshake not recorded", { eventId, error: String(error) });
    });
  }

  async function record(request: HookRequest, error: HookError, mappingMs?: number): Promise<void> {
    const event = toRefusedEvent(request, error, { redact: current().config.hooks.redact, mappingMs });
    const { id: eventId, hook, mapping, failure } = event;
    await journal.accept(event).catch((cause: unknown) => {
      log.error("refused request not recorded", { eventId, error: String(cause) });
    });
    measure(event);
    telemetry.steps.warn("request refused", { eventId, hook, mapping, status: error.status, code: error.code });
    // The error of a transform may quote the payload, so it is only logged at the level debug.
    if (failure?.detail) log.debug("request refused because", { eventId, detail: failure.detail });
  }
}

function toAnswer(result: AcceptResult, resolution?: Resolution): HttpResponse {
  if (result.kind === "conflict") throw new HookError("idempotency_conflict");
  const response = receiptToResponse(result.receipt);
  // A sender of many payloads, such as the mail watch, can tell that no mapping took its request.
  if (resolution?.reason !== undefined && resolution.mapping === undefined) response.headers["Hook-Skipped"] = "true";
  return response;
}

function describeResolution(resolution: Resolution, describe: NonNullable<Describe>): Resolution {
  const { mapping, actions } = resolution;
  describe({ "hookline.mapping": mapping, "hookline.actions": actions.length });
  return resolution;
}

/** Senders wait three seconds for the answer. */
const ECHO_WAIT_MS = 1000;
const ECHO_STEP_MS = 50;

/** How long a count of the journal is used, in milliseconds. */
const MAX_AGE_MS = 500;

/** Refuses requests while `maxPending()` runs or more are unfinished, so that the backlog stays bounded. */
function createBacklogGuard(
  journal: Journal,
  maxPending: () => number,
): { hasRoom(): boolean; requireRoom(): void; add(runs: number): void } {
  let pending = 0;
  let countedAt = 0;

  const hasRoom = (): boolean => pending < maxPending();
  return {
    hasRoom,
    requireRoom() {
      if (Date.now() - countedAt > MAX_AGE_MS) count();
      if (hasRoom()) return;
      throw new HookError("overloaded", { message: "Too many runs are waiting.", headers: { "Retry-After": "5" } });
    },
    add(runs) {
      pending += runs;
    },
  };

  function count(): void {
    countedAt = Date.now();
    journal.stats().then(
      (stats) => (pending = stats.pendingRuns),
      () => undefined,
    );
  }
}
