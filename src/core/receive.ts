import { DAY_MS } from "./shared/time.ts";
import { toSystemEvent } from "./actions/main-session.ts";
import { takeAnswer } from "./approvals/chat-answer.ts";
import { takePress } from "./approvals/press.ts";
import { HookError, messageOf } from "./errors.ts";
import type { FindParser } from "./ingress/parse-body.ts";
import { receiptToResponse } from "./ingress/exchange.ts";
import { dropPayload, parseLate, toReplayRequest, withoutBody } from "./ingress/hook-request.ts";
import { fingerprintOf, idempotencyScope, toEvent, toRefusedEvent, toSignatureKey } from "./journal/new-event.ts";
import type { AcceptResult, EventRecord, Journal, NewEvent } from "./journal/journal.ts";
import { isStateRefusal, toStateError } from "./journal/state-refusal.ts";
import { isBuiltInHook } from "./mapping/mapping-index.ts";
import type { EarlierTurn } from "./mapping/item/join-change.ts";
import type { IsOwn } from "./mapping/match.ts";
import { resolveRequest, type ResolveOptions } from "./mapping/resolve-request.ts";
import { createSentMessages } from "./mapping/item/sent-messages.ts";
import { createState, type HeldState, StartAgain } from "./mapping/state.ts";
import type { ChannelDriver } from "./ports/channel.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { ButtonPress } from "./ports/vendor.ts";
import { createLines } from "./shared/lines.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import { inSpan } from "./telemetry/traces.ts";
import type { TransformRunner } from "./transforms/runner.ts";
import {
  type HookRequest,
  type HttpResponse,
  type Receipt,
  type Resolution,
  type HookAction,
  isSender,
  NO_MODEL,
} from "./types.ts";
import { createBacklogGuard } from "./ingress/overload.ts";

export interface ReceiverParts {
  current(): Runtime;
  sandbox: TransformRunner;
  journal: Journal;
  telemetry: Telemetry;
  findParser: FindParser;
  isOwn: IsOwn;
  /** Called before the event of a request to this node is committed. */
  stream: { received(id: string): void };
}

/** A request that the journal has committed, or knows. */
export interface Accepted {
  response: HttpResponse;
  receipt: Receipt;
  /** The id of its mapping; absent for the built-in hooks, and for a repeat. */
  mapping?: string;
}

export interface Receiver {
  /** Whether `receive` needs the payload. Without it, an invalid body is refused all the same. */
  readsPayload(request: HookRequest, runtime: Runtime): boolean;
  /** Takes a verified request through mapping and journal to its answer, or repeats the answer to its idempotency key. */
  receive(request: HookRequest, runtime: Runtime): Promise<Accepted>;
  /** Runs a stored request again, through the current mappings and without an idempotency key. */
  replay(event: EventRecord, options?: { deliver?: boolean }): Promise<HttpResponse>;
  /** Stores the handshake of a sender as a skipped event. Never rejects: the answer does not depend on it. */
  recordHandshake(request: HookRequest, note: string | undefined): Promise<void>;
  /** Stores a refused request for the operator. Never rejects: the refusal does not depend on it. */
  record(request: HookRequest, error: HookError): Promise<void>;
}

/** Connects the ingress with the mappings and the journal. A 2xx is only answered after the commit. */
export function createReceiver(parts: ReceiverParts): Receiver {
  const { current, sandbox, journal, telemetry, findParser, isOwn, stream } = parts;
  const { log } = telemetry;
  const backlog = createBacklogGuard(journal, () => current().config.hooks.maxPending);
  const run: TransformRunner["run"] = (bundle, call) => inSpan("transform", () => sandbox.run(bundle, call));
  const lines = createLines();
  const { isDelivered, createFindSent } = createSentMessages({ journal, current, log });
  return { readsPayload, receive, replay, record, recordHandshake };

  function readsPayload(request: HookRequest, { mappings, config }: Runtime): boolean {
    // Parse first: a replay, an overload or redaction must not act on a body that may be invalid.
    return (
      request.idempotencyKey !== undefined ||
      config.hooks.redact.length > 0 ||
      !backlog.hasRoom(request.credential) ||
      mappings.readsPayload(request)
    );
  }

  async function receive(request: HookRequest, runtime: Runtime): Promise<Accepted> {
    // Before the overload check: waiting runs may need this answer.
    const { by = [] } = runtime.config.agents.approvals ?? {};
    const pressed = await takeAsPress(request, runtime, by);
    if (pressed) return pressed;
    const answered = by.length > 0 ? await takeAsAnswer(request, runtime, by) : undefined;
    if (answered) return answered;
    backlog.requireRoom(request.credential);
    const key = replayKeyOf(request);
    const known = key === undefined ? undefined : await findReplay(request, key);
    const accepted = known ? toAccepted(known) : await mapAndCommit(request, runtime);
    noteRepeats(request, accepted.receipt, runtime);
    return accepted;
  }

  function noteRepeats({ hook }: HookRequest, { eventId, actions, replayed }: Receipt, { mappings }: Runtime): void {
    const count = replayed ? Math.max(1, actions.length) : actions.filter(({ repeated }) => repeated).length;
    if (count === 0) return;
    telemetry.activity.repeated({ hook: mappings.names(hook) ? hook : undefined, count });
    log.info("a repeat was not executed again", { step: "mapping", eventId, hook, count });
  }

  /** A person's answer to a question is no event for a mapping. */
  async function takeAsAnswer(
    request: HookRequest,
    runtime: Runtime,
    by: readonly string[],
  ): Promise<Accepted | undefined> {
    const { mappings } = runtime.mappings;
    const { vendors } = runtime.drivers;
    const startedAt = performance.now();
    const taken = await takeAnswer(request, { journal, by, mappings, vendors, log, isDelivered });
    if (!taken) return undefined;
    const { approvalId, mapping, reason } = taken;
    log.info("a question was answered", { eventId: request.id, approvalId });
    const resolution: Resolution = { mapping, reason, actions: [], warnings: [], log: [] };
    return toAccepted(await commit(request, resolution, { runtime, startedAt }), resolution);
  }

  /** The press of a button of ours starts nothing. Its value is not stored, and neither is its body. */
  async function takeAsPress(
    request: HookRequest,
    runtime: Runtime,
    by: readonly string[],
  ): Promise<Accepted | undefined> {
    const startedAt = performance.now();
    const { mappings } = runtime.mappings;
    const taken = await takePress(request, { journal, by, mappings, vendors: runtime.drivers.vendors, log });
    if (request.isProvedByButton && !taken?.isKnown) {
      throw new HookError("unauthorized", { message: "The button is not one of this service." });
    }
    if (!taken) return undefined;
    const { press, mapping, reason, approvalId, channel, text } = taken;
    if (approvalId !== undefined) log.info("a question was answered", { eventId: request.id, approvalId });
    const resolution: Resolution = { mapping, reason, actions: [], warnings: [], log: [] };
    const { receipt } = toAccepted(await commit(withoutBody(request), resolution, { runtime, startedAt }), resolution);
    if (text !== undefined) await tell(press, text, runtime.channels.get(channel));
    // Without the mapping, whose own answers are not for presses.
    return { receipt, response: { headers: {}, ...press.answer(text) } };
  }

  /** Where an answer to the press shows nothing. A failure changes nothing. */
  async function tell({ to, person }: ButtonPress, text: string, driver: ChannelDriver | undefined): Promise<void> {
    try {
      await driver?.tell?.(to, person, text, AbortSignal.timeout(TELL_MS));
    } catch (error) {
      log.warn("the person who has pressed a button was not told", { step: "approvals", error: messageOf(error) });
    }
  }

  /** Other requests wait for the state that this one reads until its commit. If another node was first, it runs again. */
  async function mapAndCommit(request: HookRequest, runtime: Runtime): Promise<Accepted> {
    let state: HeldState | undefined;
    const openState = (name: string): HeldState =>
      (state ??= createState({ name, readState: journal.readState, lines }));
    for (let runs = 0; ;) {
      const startedAt = performance.now();
      try {
        if (state) await state.startAgain();
        const resolved = await resolve(request, runtime, { startedAt, openState });
        const resolution = resolved.publications ? await publish(resolved, runtime) : resolved;
        const result = await commit(request, resolution, { runtime, startedAt });
        if (result.kind === "state-changed" && runs++ < MAX_RERUNS) continue;
        if (isStateRefusal(result)) return await refuse(request, toStateError(result, resolution), startedAt);
        return toAccepted(result, resolution);
      } catch (error) {
        if (!(error instanceof StartAgain)) throw error;
      } finally {
        state?.release();
      }
    }
  }

  /** Nobody reads publications without the endpoint. Events from here, or through many services, are not passed on again. */
  async function publish(resolution: Resolution, { config }: Runtime): Promise<Resolution> {
    if (!config.gateway.mcp) return { ...resolution, publications: undefined };
    const storeId = await journal.publications.storeId();
    const publications = resolution.publications?.filter(
      ({ publication: { via } }) => !via.includes(storeId) && via.length < MAX_STORES,
    );
    for (const { publication } of publications ?? []) publication.via.push(storeId);
    return { ...resolution, publications };
  }

  function replay(event: EventRecord, { deliver = true } = {}): Promise<HttpResponse> {
    return inSpan("replay", async () => {
      backlog.requireRoom();
      const runtime = current();
      const request = await toReplayRequest(event, findParser);
      const startedAt = performance.now();
      const openState = (name: string): HeldState => createState({ name, readState: journal.readState });
      const resolution = await resolve(request, runtime, { startedAt, isEcho: async () => false, openState });
      // The first event has used its keys, state and publications.
      const actions = deliver ? resolution.actions : resolution.actions.map(withoutDelivery);
      const repeated = { ...resolution, actions, idempotency: undefined, state: undefined, publications: undefined };
      return toAccepted(await commit(request, repeated, { runtime, startedAt }), repeated).response;
    });
  }

  async function findReplay(request: HookRequest, key: string): Promise<AcceptResult | undefined> {
    const known = await journal.findReplay(idempotencyScope(request), key, fingerprintOf(request));
    return known?.kind === "conflict" && request.signature?.isBodyUnsigned ? { kind: "forged" } : known;
  }

  function resolve(
    request: HookRequest,
    { mappings, config, channels, tools, readMail }: Runtime,
    {
      startedAt,
      isEcho = isDelivered,
      openState,
    }: Pick<ResolveOptions, "isEcho" | "openState"> & { startedAt: number },
  ): Promise<Resolution> {
    return inSpan("mapping", async (describe) => {
      try {
        const options = {
          mappings,
          config,
          channels,
          tools,
          readMail,
          run,
          isEcho,
          hasSpoken: journal.hasSpoken,
          findSent: createFindSent(channels),
          changes: mappings.hasWorkspaces ? toChanges(mappings) : undefined,
          isOwn,
          openState,
        };
        const resolution = await resolveRequest(request, options);
        describe?.({ "hookline.mapping": resolution.mapping, "hookline.actions": resolution.actions.length });
        return resolution;
      } catch (error) {
        return refuse(request, error, startedAt);
      }
    });
  }

  function toChanges({ mappings }: Runtime["mappings"]): ResolveOptions["changes"] {
    return {
      find: journal.findChange,
      listWoken: async (sessionKey) => {
        const runs = await journal.listRuns({ sessionKey, limit: MAX_WOKEN });
        return runs.flatMap(({ action, state, model, reply }): EarlierTurn[] => {
          if (!action?.woken) return [];
          const isAhead = state === "ready" || state === "queued";
          const isSkipped = state === "done" && model === NO_MODEL && !reply;
          return isSkipped ? [] : [{ ...action.woken, isAhead }];
        });
      },
      findMapping: (id) => mappings.find(({ source }) => source.id === id),
    };
  }

  async function refuse(request: HookRequest, thrown: unknown, startedAt: number): Promise<never> {
    if (thrown instanceof StartAgain) throw thrown;
    const error = request.payload === undefined ? await findBodyFlaw(request, thrown) : thrown;
    // A hook that does not exist is kept with the other rejections: a sender's typing error must not fill the journal.
    if (error instanceof HookError && error.code !== "not_found") {
      await record(request, error, performance.now() - startedAt);
    }
    throw error;
  }

  /** Parses a body that was left to the sandbox: if it is malformed, that error takes precedence. */
  async function findBodyFlaw(request: HookRequest, thrown: unknown): Promise<unknown> {
    try {
      await parseLate(request, findParser(request.contentType, request.hook));
      return thrown;
    } catch (flaw) {
      return flaw;
    }
  }

  /** `startedAt`: when its mapping was asked, on the clock of `performance`. */
  function commit(
    request: HookRequest,
    resolution: Resolution,
    { runtime, startedAt }: { runtime: Runtime; startedAt: number },
  ): Promise<AcceptResult> {
    const { dedupeWindowMs, redact } = runtime.config.hooks;
    const mappedAt = performance.now();
    const mappingMs = mappedAt - startedAt;
    const windowMs = request.isCaughtUp ? Math.max(dedupeWindowMs, LATE_DELIVERY_MS) : dedupeWindowMs;
    const event = toEvent(request, resolution, { toSystemEvent, dedupeWindowMs: windowMs, redact, mappingMs });
    // A change of the state by another node makes the event again.
    if (!event.state) dropPayload(request);
    return inSpan("commit", () => accept(event)).then((result) => {
      if (result.kind === "committed") {
        measure(event, { mappingMs, commitMs: performance.now() - mappedAt });
        backlog.add(request.credential, resolution.actions.filter(({ kind }) => kind === "agent").length);
      }
      return result;
    });
  }

  function accept(event: NewEvent): Promise<AcceptResult> {
    stream.received(event.id);
    return journal.accept(event);
  }

  function measure(
    { mapping, hook, status, leftOutBy }: NewEvent,
    times: { mappingMs?: number; commitMs?: number } = {},
  ): void {
    const name = mapping ?? (isBuiltInHook(hook) ? hook : undefined);
    telemetry.activity.recorded({ mapping: name, status, leftOutBy, ...times });
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
    await accept(event).catch((error: unknown) => {
      log.error("handshake not recorded", { eventId, error: String(error) });
    });
  }

  async function record(request: HookRequest, error: HookError, mappingMs?: number): Promise<void> {
    const event = toRefusedEvent(request, error, { redact: current().config.hooks.redact, mappingMs });
    const { id: eventId, hook, mapping, failure } = event;
    await accept(event).catch((cause: unknown) => {
      log.error("refused request not recorded", { eventId, error: String(cause) });
    });
    measure(event);
    const { status, code } = error;
    log.warn("request refused", { step: "mapping", eventId, hook, mapping, status, code });
    // The error of a transform may quote the payload, so it is only logged at the level debug.
    if (failure?.detail) log.debug("request refused because", { eventId, detail: failure.detail });
  }
}

/**
 * The key to look up before a mapping: the header's key, unless the mapping of its sender decides whether it counts,
 * and a signature that does not cover the body, because a forged one must not reach a mapping.
 */
function replayKeyOf({ idempotencyKey, signature, credential, onceUntil }: HookRequest): string | undefined {
  if (onceUntil !== undefined) return idempotencyKey;
  if (signature?.isBodyUnsigned) return toSignatureKey(signature);
  return isSender(credential) ? undefined : idempotencyKey;
}

/** How long a sender may still try to deliver an event that its API gave. Stripe does for three days. */
const LATE_DELIVERY_MS = 4 * DAY_MS;

/** Through how many services that publish an event can come. */
const MAX_STORES = 8;

/** How many runs of a session are looked at. */
const MAX_WOKEN = 100;

/** How often a request runs again because other nodes changed its state. */
const MAX_RERUNS = 3;

function toAccepted(result: AcceptResult, resolution?: Resolution): Accepted {
  if (result.kind === "conflict") throw new HookError("idempotency_conflict");
  if (result.kind === "forged") {
    throw new HookError("unauthorized", { message: "The signature was used before, with another body." });
  }
  if (isStateRefusal(result)) throw toStateError(result);
  const { receipt } = result;
  const response = receiptToResponse(receipt);
  // A sender of many payloads, such as the mail watch, can tell that no mapping took its request.
  if (resolution?.reason !== undefined && resolution.mapping === undefined) response.headers["Hook-Skipped"] = "true";
  return { response, receipt, mapping: resolution?.mapping };
}

/** The sender waits for the answer meanwhile. */
const TELL_MS = 1500;

function withoutDelivery(action: HookAction): HookAction {
  return action.kind === "agent" ? { ...action, deliver: false } : action;
}
