import { toCommand } from "../core/shared/text/command.ts";
import { HOUR_MS } from "../core/shared/time.ts";
import { type CatchUp, type CatchUpResult, joinMissed, runCatchUp } from "./catch-up-run.ts";
import { findVendor } from "../core/ports/vendor.ts";
import type { FoundMissed, MissedEvents } from "../core/ports/missed.ts";
import { toCaughtUpRequest } from "../core/ingress/hook-request.ts";
import { findUse, listApiAccesses, listEvents, toHook, toHookUrl } from "../core/config/presets/api-access.ts";
import { findRegistration } from "../core/config/presets/file.ts";
import type { PresetUse } from "../core/config/resolved-config.ts";
import { DriverError, HookError, JournalUnavailable, messageOf } from "../core/errors.ts";
import { listSince } from "../operator/stored-events.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { parseObject, readOwn, toText } from "../core/shared/json.ts";
import { toOneLine } from "../core/shared/text/text.ts";
import type { HookRequest, HttpResponse } from "../core/types.ts";
import type { Alerts } from "../core/dispatch/alerts.ts";
import type { Parts } from "./parts.ts";

/** Finds the times in which no node was ready, and gets from senders what they could not deliver then. */
export interface CatchUps {
  start(): void;
  /** Begins a catch-up, or only says what it would get. Throws a `HookError` if the preset's sender cannot be asked. */
  ask(request: {
    preset: string;
    hook?: string;
    since: number;
    dryRun: boolean;
  }): Promise<FoundMissed & { hook: string }>;
  /** Ends what runs; the next start continues it. */
  close(): Promise<void>;
}

export interface CatchUpParts {
  /** Rejects when the service cannot accept hooks. */
  requireReady(): Promise<void>;
  receive(request: HookRequest, runtime: Runtime): Promise<HttpResponse>;
  alerts(): Alerts;
  /** Nothing of the hook is missing any more. */
  caughtUp(hook: string): void;
}

const TICK_MS = 60_000;
/** A longer time without a ready node is a gap. */
const MAX_GAP_MS = 2 * 60_000;
/** Requests of this time may have been in flight when the gap began. */
const BEFORE_MS = 5 * 60_000;
/** Senders keep no more, and an older event is seldom wanted. */
const MAX_SINCE_MS = 72 * HOUR_MS;

/**
 * The kinds of notes. READY: when a node was ready last, and another note that ends after the longest time that is no gap,
 * since nodes have different clocks. KIND: the catch-ups that are under way, by hook.
 */
const READY = "ready";
const KIND = "catch-up";

export function createCatchUps(parts: Parts, { requireReady, receive, alerts, caughtUp }: CatchUpParts): CatchUps {
  const { journal, current, telemetry, findParser } = parts;
  const { log } = telemetry;
  const shutdown = new AbortController();
  const { signal } = shutdown;
  let timer: NodeJS.Timeout | undefined;
  let ticking: Promise<void> | undefined;
  /** By hook. */
  const running = new Map<string, Promise<void>>();

  return {
    start() {
      void tick();
      timer = setInterval(() => void tick(), TICK_MS).unref();
    },
    async ask({ preset, hook = preset, since, dryRun }) {
      const use = findUse(current().config, preset, hook);
      if (!use) throw new HookError("not_found", { message: `The preset ${preset} is not used for this hook.` });
      try {
        const found = await openEvents(use).then((events) => events.find(since));
        if (!dryRun) {
          await journal.writeNotes([toNote(begin(use, since))]);
          void tick();
        }
        return { hook, ...found };
      } catch (error) {
        if (error instanceof DriverError) throw new HookError("sender_refused", { message: error.message });
        throw error;
      }
    },
    async close() {
      clearInterval(timer);
      shutdown.abort(new Error("the service is shutting down"));
      await ticking;
      await Promise.all(running.values());
    },
  };

  function tick(): Promise<void> {
    ticking ??= check()
      .catch((error: unknown) => {
        if (!signal.aborted) log.warn("catch-up not checked", { error: messageOf(error) });
      })
      .finally(() => (ticking = undefined));
    return ticking;
  }

  async function check(): Promise<void> {
    const { gateway, hooks } = current().config;
    // A worker answers no sender.
    if (gateway.role !== "worker" && hooks.enabled) await noteReady();
    // Only a node that executes has alerts.
    if (gateway.role === "ingress") return;
    for (const catchUp of await listPending()) {
      if (signal.aborted || running.has(catchUp.hook)) continue;
      running.set(
        catchUp.hook,
        perform(catchUp).finally(() => running.delete(catchUp.hook)),
      );
    }
  }

  /** Notes that this node is ready. One node notes the catch-ups for a gap before it, in the same commit. */
  async function noteReady(): Promise<void> {
    await requireReady();
    await withLease(READY, async () => {
      const now = Date.now();
      const [last, recent] = await journal.listNotes(READY);
      const readyAt = Number(last?.json ?? now);
      const isGap = last !== undefined && recent === undefined;
      const since = Math.max(readyAt - BEFORE_MS, now - MAX_SINCE_MS);
      const pending = new Set(isGap ? (await listPending()).map(({ hook }) => hook) : []);
      const uses = isGap ? current().config.hooks.presets.filter((use) => use.with["catchUp"] === true) : [];
      // One that is under way began earlier, and reads to the present.
      const found = uses.filter((use) => !pending.has(toHook(use))).map((use) => begin(use, since));
      if (found.length > 0) log.info("gap found", { step: "catch-up", from: toIso(readyAt), to: toIso(now) });
      await journal.writeNotes([
        { kind: READY, key: "last", json: String(now) },
        { kind: READY, key: "recent", json: "true", expiresAt: now + MAX_GAP_MS },
        ...found.map(toNote),
      ]);
    });
  }

  async function listPending(): Promise<CatchUp[]> {
    return (await journal.listNotes(KIND)).map(({ json }): CatchUp => JSON.parse(json));
  }

  /** Does the work, unless another node has the lease. */
  async function withLease(name: string, work: () => Promise<void>): Promise<void> {
    const lease = await journal.lease(name);
    if (!lease) return;
    try {
      await work();
    } finally {
      await journal.releaseLease(lease).catch(() => undefined);
    }
  }

  /** One node at a time. Never rejects. */
  async function perform(found: CatchUp): Promise<void> {
    await withLease(`${KIND}:${found.hook}`, async () => {
      // Another node may have continued or ended it.
      const catchUp = (await listPending()).find((pending) => keyOf(pending) === keyOf(found));
      if (catchUp) await finish(catchUp);
    }).catch((error: unknown) => {
      // The note remains, and the next pass tries again.
      log.warn("a catch-up cannot begin yet", { step: "catch-up", hook: found.hook, error: messageOf(error) });
    });
  }

  async function finish(catchUp: CatchUp): Promise<void> {
    const { preset, hook } = catchUp;
    const note = { kind: KIND, key: keyOf(catchUp) };
    try {
      const result = await runOnce(catchUp);
      await journal.writeNotes([note]);
      report(catchUp, result);
    } catch (error) {
      if (signal.aborted || error instanceof JournalUnavailable) return;
      if (error instanceof DriverError && error.retryable) return;
      log.error("catch-up failed", { step: "catch-up", hook, error: messageOf(error) });
      await journal.writeNotes([note]).catch(() => undefined);
      raise(catchUp, `what ${preset} could not deliver since ${toIso(catchUp.since)} was not found. The log says why.`);
    }
  }

  async function runOnce(catchUp: CatchUp): Promise<CatchUpResult> {
    const use = findUse(current().config, catchUp.preset, catchUp.hook);
    if (!use) throw new DriverError("the preset is not used any more", { retryable: false });
    const events = await openEvents(use);
    return runCatchUp(catchUp, { events, signal, save: (next) => journal.writeNotes([toNote(next)]) });
  }

  function report(catchUp: CatchUp, { repeated, failed, failures, left, notes }: CatchUpResult): void {
    const { hook, preset, since } = catchUp;
    const [failure] = failures;
    log.info("caught up", { step: "catch-up", hook, repeated, failed, left, why: failure?.message });
    const told = [
      ...(left > 0 ? [`${left} events are left: run \`${toCommand("events catch-up", preset)}\` again.`] : []),
      ...(failed > 0 ? [`${failed} events cannot be got again.`] : []),
      ...notes,
    ];
    if (told.length === 0) caughtUp(hook);
    else raise(catchUp, `caught up since ${toIso(since)}. ${told.join(" ")}`);
  }

  function raise({ hook, preset: about }: CatchUp, text: string): void {
    log.warn("catch-up is not complete", { step: "catch-up", hook, text });
    alerts().raise({ kind: "catch-up", subject: hook, about, text: `The hook ${toOneLine(hook)}: ${toOneLine(text)}` });
  }

  async function openEvents(use: PresetUse): Promise<MissedEvents> {
    const { config, drivers } = current();
    const accesses = listApiAccesses(use, config);
    const vendor = findVendor(drivers.vendors, use.name);
    if (!vendor?.openMissed || !findRegistration(use.folder)?.catchUp) {
      throw new DriverError(`The sender of ${use.name} does not say what did not arrive.`, { retryable: false });
    }
    if (accesses.length === 0) throw new DriverError("Set with.place.", { retryable: false });
    const hook = toHook(use);
    const options = {
      url: toHookUrl(use, config) ?? "",
      events: listEvents(use),
      readKnown: (since: number) => readKnownIds(parts, hook, since),
      enter: (event: Record<string, unknown>) => enter(hook, use.name, event),
    };
    const opened = accesses.map(({ token = "", ...access }) => {
      if (token !== "") return vendor.openMissed!({ ...access, token, signal }, options);
      throw new DriverError(`Set with.apiToken, or channels.${use.name}.token.`, { retryable: false });
    });
    return joinMissed(await Promise.all(opened));
  }

  /** Takes the event under its sender's credential, and so with the same keys against repeats. */
  async function enter(hook: string, preset: string, event: Record<string, unknown>): Promise<void> {
    const runtime = current();
    const { credential } =
      runtime.mappings.mappings.find(({ source, match }) => source.preset === preset && match.path === hook) ?? {};
    if (credential === undefined) throw new DriverError("the preset has no secret", { retryable: false });
    const posted = { hook, hooksPath: runtime.config.hooks.path, credential, event };
    const request = await toCaughtUpRequest(posted, findParser);
    try {
      await receive(request, runtime);
    } catch (error) {
      if (!(error instanceof HookError) && !(error instanceof JournalUnavailable)) throw error;
      const retryable = !(error instanceof HookError) || error.status === 503;
      throw new DriverError(error.message, { retryable, cause: error });
    }
  }
}

/** Ids that have arrived since a time, also by another attempt of the sender. */
async function readKnownIds({ journal }: Parts, hook: string, since: number): Promise<Set<string>> {
  const known = new Set<string>();
  for await (const { request, status, failure } of listSince(journal, { hook, since })) {
    if (status !== "rejected" && failure === undefined)
      known.add(toText(readOwn(parseObject(request.body.toString("utf8")), "id")));
  }
  return known;
}

function begin(use: PresetUse, since: number): CatchUp {
  return { preset: use.name, hook: toHook(use), since, foundAt: Date.now(), done: 0, failed: 0, failures: [] };
}

/** One that is asked for while another is under way comes after it. */
function keyOf({ hook, foundAt }: CatchUp): string {
  return `${hook} ${foundAt}`;
}

function toNote(catchUp: CatchUp): { kind: string; key: string; json: string } {
  return { kind: KIND, key: keyOf(catchUp), json: JSON.stringify(catchUp) };
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
