import { splitText } from "../shared/text/split-text.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { AlertKind, AlertRule } from "../config/resolved-config.ts";
import { DriverError } from "../errors.ts";
import type { Approval, Change, Journal, Lease } from "../journal/journal.ts";
import { type Alarm, createAlarm } from "../shared/time.ts";
import { createId } from "../shared/id.ts";
import type { Log } from "../telemetry/log.ts";
import { QUESTION_HOLDS } from "../types.ts";
import {
  describeDeadLetter,
  describeHeld,
  describeOutage,
  describeQuestion,
  describeSilence,
  describeUnasked,
} from "./alert-texts.ts";
import type { DispatcherOptions } from "./dispatch-context.ts";
import { DELIVERY_POLICY, sendPart } from "./execute-delivery.ts";
import { retryDelayMs, retryWhileUnavailable, toFailure } from "./retry.ts";

export interface Alert {
  kind: AlertKind;
  /** Each subject has a separate cooldown. */
  subject?: string;
  /** For a hook: the preset that can ask its sender. */
  about?: string;
  /** One line. Holds nothing of a payload. Undefined if there is nothing to report after all. */
  text: string | (() => Promise<string | undefined>);
}

export interface Alerts {
  /** Watches for what these rules name, and only that. The cooldown of a rule that stays the same continues. */
  use(rules: AlertRule[]): void;
  /** Sends the alert by every rule that names its kind, unless the rule's cooldown lasts. */
  raise(alert: Alert): void;
  /** Drops what was not sent. */
  close(): Promise<void>;
}

export interface AlertsOptions extends Pick<DispatcherOptions, "current"> {
  journal: Pick<
    Journal,
    | "watchChanges"
    | "lease"
    | "releaseLease"
    | "listEvents"
    | "getRun"
    | "getApproval"
    | "listNotes"
    | "writeNotes"
    | "sign"
  >;
  log: Log;
}

/** Kinds that changes of the journal show. */
const OF_CHANGES: ReadonlySet<AlertKind> = new Set([
  "dead-letter",
  "budget",
  "model-unavailable",
  "approval-waiting",
  "outcome-unknown",
]);

/** Kinds that all nodes see in the journal: one of them sends the alert. */
const SHARED: ReadonlySet<AlertKind> = new Set([...OF_CHANGES, "no-event-for", "restarting"]);

/** The notes of the journal that keep the cooldown of `restarting`, since the memory of the process does not. */
const TOLD = "alert-told";

/** How long a provider has been unavailable before the alert. */
const OUTAGE_ALERT_MS = 5 * 60_000;

/** How often at most the journal is asked whether an event has come. */
const MIN_CHECK_MS = 1000;

/** Tells a person through a channel that something needs them. Keeps its state in memory. */
export function createAlerts({ journal, current, log }: AlertsOptions): Alerts {
  const startedAt = Date.now();
  const shutdown = new AbortController();
  const { signal } = shutdown;
  const sending = new Set<Promise<boolean>>();
  /** Until when nothing is sent, by rule, kind and subject. */
  const quietUntil = new Map<string, number>();
  /** Alerts that came while one of the same rule, kind and subject was made, which may turn out to be none. */
  const meanwhile = new Map<string, Alert>();
  /** By name. */
  const leases = new Map<string, Lease>();
  /** By the id of a run that waits. */
  const outageChecks = new Map<string, NodeJS.Timeout>();
  let rules: AlertRule[] = [];
  let alarms: Alarm[] = [];
  let unwatch: (() => void) | undefined;

  return {
    use(next) {
      rules = next;
      for (const alarm of alarms) alarm.stop();
      alarms = rules.flatMap(watchSilence);
      const needsChanges = rules.some(({ on }) => on.some((kind) => OF_CHANGES.has(kind)));
      if (needsChanges) unwatch ??= journal.watchChanges(onChanges);
      else stopWatching();
      void releaseOthers();
    },
    raise,
    async close() {
      stopWatching();
      for (const alarm of alarms) alarm.stop();
      shutdown.abort(new Error("the service is shutting down"));
      await Promise.all(sending);
    },
  };

  function stopWatching(): void {
    unwatch?.();
    unwatch = undefined;
    for (const timer of outageChecks.values()) clearTimeout(timer);
    outageChecks.clear();
  }

  /** Another node may still have the rules that a reload has removed here. Never rejects. */
  async function releaseOthers(): Promise<void> {
    const wanted = new Set(rules.flatMap((rule) => rule.on.map((kind) => toLeaseName(rule, kind))));
    for (const [name, lease] of leases) {
      if (wanted.has(name)) continue;
      leases.delete(name);
      await journal.releaseLease(lease).catch((error: unknown) => {
        log.warn("the lease of an alert was not released", { error: toFailure(error).message });
      });
    }
  }

  /** Whether this node is the one of those with such a rule that tells it. */
  async function isTeller(rule: AlertRule, kind: AlertKind): Promise<boolean> {
    if (!SHARED.has(kind)) return true;
    const lease = await journal.lease(toLeaseName(rule, kind));
    if (lease) leases.set(lease.name, lease);
    return lease !== undefined;
  }

  function isWanted(kind: AlertKind): boolean {
    return rules.some(({ on }) => on.includes(kind));
  }

  function raise(alert: Alert): void {
    for (const rule of rules) void raiseFor(rule, alert);
  }

  function onChanges(changes: readonly Change[]): void {
    for (const change of changes) {
      if (isRetried(change) && isWanted("model-unavailable")) void checkOutage(change.id);
      if (change.kind === "approval" && (isWanted("approval-waiting") || isWanted("outcome-unknown")))
        void checkQuestion(change);
      const alert = toAlert(change);
      if (alert) raise(alert);
    }
  }

  function toAlert(change: Change): Alert | undefined {
    if (change.kind === "dead-letter" && change.isDead) {
      return { kind: "dead-letter", text: () => textOfDeadLetter(change) };
    }
    if (change.kind === "run" && change.state === "held") return { kind: "budget", text: () => textOfHeld(change.id) };
    return undefined;
  }

  /** A question that was asked, or that nobody will be asked because too many are open. Never rejects. */
  async function checkQuestion({ id, state }: Extract<Change, { kind: "approval" }>): Promise<void> {
    if (state !== "open" && state !== "denied") return;
    try {
      const approval = await journal.getApproval(id);
      const alert = approval && toQuestionAlert(approval, state);
      if (alert) raise(alert);
    } catch (error) {
      if (!signal.aborted) log.warn("a question was not checked for alerts", { error: toFailure(error).message });
    }
  }

  /** A run that waits for a provider is claimed again and again, so this is called often enough. Never rejects. */
  async function checkOutage(id: string): Promise<void> {
    try {
      const { unavailableSince, waitingFor } = (await journal.getRun(id)) ?? {};
      if (unavailableSince === undefined || waitingFor === undefined) return;
      const alertAt = unavailableSince + OUTAGE_ALERT_MS;
      // The next attempt may be long after, if the provider asked for it.
      if (Date.now() < alertAt) return checkLater(id, alertAt);
      const text = describeOutage(waitingFor, unavailableSince);
      raise({ kind: "model-unavailable", subject: waitingFor, text });
    } catch (error) {
      if (!signal.aborted) log.warn("an outage was not checked for alerts", { error: toFailure(error).message });
    }
  }

  function checkLater(id: string, at: number): void {
    if (outageChecks.has(id) || signal.aborted) return;
    const check = (): void => {
      outageChecks.delete(id);
      void checkOutage(id);
    };
    outageChecks.set(id, setTimeout(check, at - Date.now()));
  }

  async function textOfDeadLetter({ id, eventId }: { id: string; eventId?: string }): Promise<string> {
    const [event] = eventId === undefined ? [] : await journal.listEvents({ ids: [eventId], limit: 1 });
    return describeDeadLetter(id, event);
  }

  async function textOfHeld(id: string): Promise<string | undefined> {
    const run = await journal.getRun(id);
    // Somebody may have released it since.
    return run?.state === "held" && !isQuestionHold(run.holdReason) ? describeHeld(run) : undefined;
  }

  async function raiseFor(rule: AlertRule, alert: Alert): Promise<void> {
    const { kind, subject = "", text } = alert;
    const key = JSON.stringify([rule.on, rule.channel, rule.to, rule.hook, rule.everyMs, rule.afterMs, kind, subject]);
    const now = Date.now();
    if (signal.aborted || !rule.on.includes(kind)) return;
    const until = quietUntil.get(key) ?? 0;
    if (until === Infinity) meanwhile.set(key, alert);
    if (now < until) return;
    quietUntil.set(key, Infinity);
    const work = attempt(rule, { kind, text, key });
    sending.add(work);
    const isTold = await work;
    sending.delete(work);
    quietUntil.set(key, isTold ? now + rule.everyMs : 0);
    const next = meanwhile.get(key);
    meanwhile.delete(key);
    if (next && !isTold) await raiseFor(rule, next);
  }

  /** True if it was sent, or cannot be. Never rejects. */
  async function attempt(rule: AlertRule, { kind, text, key }: Alert & { key: string }): Promise<boolean> {
    const fields = { kind, rule: rule.key, channel: rule.channel };
    try {
      const line = await retryWhileUnavailable(
        async () => {
          if (!(await isTeller(rule, kind)) || (kind === "restarting" && (await wasTold(key)))) return undefined;
          return typeof text === "string" ? text : text();
        },
        { log, signal },
      );
      if (line === undefined) return false;
      if (current().config.channelRules.get(rule.channel)?.dryRun) log.info("alert not sent: dry run", fields);
      else {
        await send(rule, line);
        log.info("alert sent", fields);
        if (kind === "restarting") await keepTold(key, Date.now() + rule.everyMs);
      }
    } catch (error) {
      if (!signal.aborted) log.error("alert not sent", { ...fields, error: toFailure(error).message });
    }
    return true;
  }

  async function wasTold(key: string): Promise<boolean> {
    return (await journal.listNotes(TOLD)).some((note) => note.key === key);
  }

  async function keepTold(key: string, expiresAt: number): Promise<void> {
    await journal.writeNotes([{ kind: TOLD, key, json: "true", expiresAt }]);
  }

  async function send({ channel, to }: AlertRule, text: string): Promise<void> {
    const id = createId();
    const driver = current().channels.get(channel);
    if (!driver) throw new DriverError(`the channel ${channel} is not configured`, { retryable: false });
    const parts = splitText(text, driver);
    for (const [index, part] of parts.entries()) {
      const message = { to, text: part, idempotencyKey: `${id}:${index}`, sign: journal.sign };
      // A reload may have replaced the driver.
      await retry((attempts) =>
        sendPart({ ...message, mayBeSent: attempts > 1 }, current().channels.get(channel) ?? driver, signal),
      );
    }
  }

  async function retry(work: (attempts: number) => Promise<unknown>): Promise<void> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        await work(attempts);
        return;
      } catch (error) {
        const waitMs = retryDelayMs(error, attempts, DELIVERY_POLICY);
        if (waitMs === undefined || signal.aborted) throw error;
        await delay(waitMs, undefined, { signal });
      }
    }
  }

  /** Checks whether an event has come each time when one is overdue. */
  function watchSilence(rule: AlertRule): Alarm[] {
    const { on, hook, afterMs = Infinity } = rule;
    if (!on.includes("no-event-for")) return [];
    const alarm = createAlarm(() => void check().catch(() => alarm.set(Date.now() + MIN_CHECK_MS)));
    alarm.set(Date.now() + Math.min(afterMs, MIN_CHECK_MS));
    return [alarm];

    async function check(): Promise<void> {
      const [last] = await journal.listEvents({ hook, limit: 1 });
      // Silence while the service was stopped does not count.
      const overdueAt = Math.max(last?.receivedAt ?? 0, startedAt) + afterMs;
      if (Date.now() < overdueAt) return alarm.set(overdueAt);
      await raiseFor(rule, { kind: "no-event-for", text: describeSilence(rule, last?.receivedAt) });
      alarm.set(Date.now() + Math.max(Math.min(afterMs, rule.everyMs), MIN_CHECK_MS));
    }
  }
}

/** Nodes may have different rules: one of those with the same tells. */
function toLeaseName({ channel, to, hook, afterMs }: AlertRule, kind: AlertKind): string {
  return `alert:${kind}:${JSON.stringify([channel, to, hook, afterMs])}`;
}

function isRetried(change: Change): change is Extract<Change, { kind: "run" }> {
  return change.kind === "run" && change.state === "ready";
}

function toQuestionAlert(approval: Approval, state: string): Alert | undefined {
  const { kind, mapping: subject, decision } = approval;
  if (state === "denied") {
    return decision === undefined ? { kind: "approval-waiting", subject, text: describeUnasked(approval) } : undefined;
  }
  return {
    kind: kind === "outcome" ? "outcome-unknown" : "approval-waiting",
    subject,
    text: describeQuestion(approval),
  };
}

function isQuestionHold(reason: string | undefined): boolean {
  return Object.values<unknown>(QUESTION_HOLDS).includes(reason);
}
