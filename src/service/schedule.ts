import type { Accepted } from "../core/receive.ts";
import type { NewNote, Note } from "../core/journal/journal.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { HookError, messageOf } from "../core/errors.ts";
import { toScheduleRequest } from "../core/ingress/hook-request.ts";
import { parseObject } from "../core/shared/json.ts";
import { compileRecurrence, findLast, type NextTime, type Recurrence } from "../core/shared/recurrence.ts";
import { backoffMs, createAlarm, DAY_MS } from "../core/shared/time.ts";
import { type HookRequest, type Receipt, toScheduleHook } from "../core/types.ts";
import type { Parts } from "./parts.ts";

/** Makes the events of mappings with a `schedule`, and says when heartbeats are. */
export interface Schedules {
  /** A rule that is new or has changed waits for its next time. */
  use(runtime: Runtime): void;
  /** Makes what is due by now, as the timer does, and waits for it. Never rejects. */
  check(): Promise<void>;
  /** Makes an event now, which is none of the rule's times. Throws a 404 `HookError` for a mapping without a schedule. */
  run(id: string): Promise<Receipt>;
  /** Waits for what is being accepted. */
  close(): Promise<void>;
}

export interface ScheduleParts extends Pick<Parts, "current" | "telemetry"> {
  journal: Pick<Parts["journal"], "lease" | "releaseLease" | "listNotes" | "writeNotes" | "listPauses" | "watch">;
  receive(request: HookRequest, runtime: Runtime): Promise<Pick<Accepted, "receipt">>;
  /** Runs a heartbeat. */
  beat(): void;
  now?(): number;
}

/** The kind of the notes that keep the last time of each rule, and the name of the lease that lets one node look for what is due. */
const SCHEDULE = "schedule";
/** How often to look at the clock at least: it may be set. */
const MAX_SLEEP_MS = 60_000;
/** How often to try again while another node has the lease, or a mapping is paused. */
const RETRY_MS = 1000;
/** After a 503, until the next time. */
const BACKOFF = { firstMs: 1000, maxMs: 60_000 };
/** The key of a time is kept longer than until the next one, since the clocks of nodes differ. */
const KEPT_MS = 4 * DAY_MS;

/** The schedule of a mapping. */
interface Job {
  id: string;
  recurrence: Recurrence;
  /** The recurrence as it is compared with that of a note. */
  rule: string;
  next: NextTime;
  /** The last time that is dealt with. undefined: its note was not read. */
  doneAt?: number;
  /** The first time after it. */
  dueAt: number;
  /** The time that could not be accepted yet. */
  retry?: { at: number; failures: number; notBefore: number };
  isFiring?: true;
}

/** A rule, and the last of its times that is dealt with, or when it began to count. */
interface Progress {
  rule: string;
  at: number;
}

export function createSchedules({
  journal,
  current,
  telemetry,
  receive,
  beat,
  now = Date.now,
}: ScheduleParts): Schedules {
  const { log } = telemetry;
  const alarm = createAlarm(() => void check());
  const firing = new Set<Promise<void>>();
  let jobs = new Map<string, Job>();
  let heartbeat: { rule: string; next: NextTime; at: number } | undefined;
  /** The notes may have rules that are not in the configuration: they are new when they come back. */
  let mayHaveLeft = true;
  let checkedAt = -Infinity;
  let checking: Promise<void> | undefined;
  let isAsked = false;
  let isPaused = false;
  let stopped = false;
  let unwatch: (() => void) | undefined;

  return {
    use(runtime) {
      unwatch ??= journal.watch((work) => {
        // A mapping may have been resumed.
        if (isPaused && work.has("run")) wakeAt(now() + RETRY_MS);
      });
      jobs = listJobs(runtime, jobs);
      mayHaveLeft = true;
      const { times } = runtime.config.agents.heartbeat;
      if (heartbeat?.rule !== toRule(times)) {
        const next = compileRecurrence(times);
        heartbeat = { rule: toRule(times), next, at: next(now()) };
      }
      wakeAt(now());
    },
    check,
    async run(id) {
      const runtime = current();
      const schedule = findSchedule(runtime, id);
      if (!schedule) throw new HookError("not_found", { message: "There is no such schedule." });
      const request = toScheduleRequest({ id, at: now(), recurrence: schedule, hooksPath: runtime.config.hooks.path });
      return (await receive(request, runtime)).receipt;
    },
    async close() {
      stopped = true;
      alarm.stop();
      unwatch?.();
      await checking;
      await Promise.all(firing);
    },
  };

  /** The clock of the alarm is the machine's. */
  function wakeAt(time: number): void {
    alarm.set(Date.now() + Math.min(Math.max(time - now(), 0), MAX_SLEEP_MS));
  }

  async function check(): Promise<void> {
    isAsked = true;
    checking ??= checkAll().finally(() => (checking = undefined));
    await checking;
    await Promise.all(firing);
  }

  async function checkAll(): Promise<void> {
    while (isAsked) {
      isAsked = false;
      if (stopped) return;
      const wakesAt = await checkOnce().catch((error: unknown) => {
        log.warn("schedules not checked, will try again", { step: SCHEDULE, error: messageOf(error) });
        return now() + BACKOFF.firstMs;
      });
      wakeAt(wakesAt);
    }
  }

  /** Gives when to look again. */
  async function checkOnce(): Promise<number> {
    const at = now();
    const isSetBack = at < checkedAt;
    checkedAt = at;
    checkHeartbeat(at);
    const idle = [...jobs.values()].filter((job) => !job.isFiring);
    const asked = idle.filter((job) => isSetBack || isDue(job, at));
    if ((mayHaveLeft || asked.length > 0) && !(await withLease(() => checkJobs(asked, at)))) return at + RETRY_MS;
    return Math.min(heartbeat?.at ?? Infinity, ...Array.from(jobs.values(), (job) => toWakeTime(job, at)));
  }

  function checkHeartbeat(at: number): void {
    if (!heartbeat) return;
    if (heartbeat.at <= at) beat();
    heartbeat.at = heartbeat.next(at);
  }

  function isDue({ doneAt, dueAt, retry }: Job, at: number): boolean {
    return doneAt === undefined || (dueAt <= at && (retry?.notBefore ?? 0) <= at);
  }

  function toWakeTime({ dueAt, next, retry }: Job, at: number): number {
    const nextAt = dueAt > at ? dueAt : next(at);
    return retry ? Math.min(retry.notBefore, nextAt) : nextAt;
  }

  function setDone(job: Job, at: number): void {
    job.doneAt = at;
    job.dueAt = job.next(at);
  }

  /** The lease only saves work: the key of a time makes it one event. */
  async function withLease(work: () => Promise<void>): Promise<boolean> {
    const lease = await journal.lease(SCHEDULE);
    if (!lease) return false;
    try {
      await work();
    } finally {
      void Promise.all(firing).then(() => journal.releaseLease(lease).catch(() => undefined));
    }
    return true;
  }

  async function checkJobs(asked: readonly Job[], at: number): Promise<void> {
    const notes = await journal.listNotes(SCHEDULE);
    const pauses = new Set((await journal.listPauses()).map(({ mapping }) => mapping));
    const known = new Map(notes.map((note) => [note.key, toProgress(note)]));
    const changed: NewNote[] = notes.filter(({ key }) => !jobs.has(key)).map(({ key }) => ({ kind: SCHEDULE, key }));
    const due: { job: Job; time: number }[] = [];
    for (const job of asked) {
      const noted = known.get(job.id);
      const doneAt = findDone(job, noted, at) ?? at;
      if (noted?.rule !== job.rule || noted.at !== doneAt) changed.push(toNote(job, doneAt));
      setDone(job, doneAt);
      const time = findLast(job.next, { since: doneAt, until: at });
      if (job.retry?.at !== time) job.retry = undefined;
      if (time !== undefined && (job.retry?.notBefore ?? 0) <= at) due.push({ job, time });
    }
    if (changed.length > 0) await journal.writeNotes(changed);
    mayHaveLeft = false;
    isPaused = due.some(({ job }) => pauses.has(job.id));
    for (const { job, time } of due) if (!pauses.has(job.id) && !stopped) begin(job, time);
  }

  function begin(job: Job, time: number): void {
    job.isFiring = true;
    const fired = fire(job, time).finally(() => {
      firing.delete(fired);
      delete job.isFiring;
      wakeAt(now());
    });
    firing.add(fired);
  }

  /** Never rejects. */
  async function fire(job: Job, time: number): Promise<void> {
    const { id, recurrence, rule, next } = job;
    const runtime = current();
    // Left, or changed: `use` is about to say so.
    if (toRule(findSchedule(runtime, id)) !== rule) return;
    const { path: hooksPath } = runtime.config.hooks;
    const onceUntil = next(time) + KEPT_MS;
    const request = toScheduleRequest({ id, at: time, recurrence, hooksPath, onceUntil });
    try {
      await receive(request, runtime).catch(passRefusal);
      await journal.writeNotes([toNote(job, time)]);
      setDone(job, time);
      job.retry = undefined;
      log.info("a time of a schedule has come", { step: SCHEDULE, hook: toScheduleHook(id), at: toIso(time) });
    } catch (error) {
      const failures = (job.retry?.failures ?? 0) + 1;
      job.retry = { at: time, failures, notBefore: now() + backoffMs(failures, BACKOFF) };
      const fields = { step: SCHEDULE, hook: toScheduleHook(id), at: toIso(time), error: messageOf(error) };
      log.warn("a time of a schedule is not accepted yet, will try again", fields);
    }
  }
}

/** A refusal of the mapping is recorded, and would be the same at the next attempt. */
function passRefusal(error: unknown): void {
  if (!(error instanceof HookError) || error.status === 503) throw error;
}

/**
 * undefined: the rule is new or has changed, or the clock was set back over many of its times. Nodes with another
 * configuration may have removed or replaced the note, so that what this one knows counts too.
 */
function findDone({ rule, next, doneAt }: Job, noted: Progress | undefined, at: number): number | undefined {
  const soonest = next(at);
  return [noted?.rule === rule ? noted.at : undefined, doneAt].find((time) => time !== undefined && time <= soonest);
}

function listJobs(runtime: Runtime, earlier: ReadonlyMap<string, Job>): Map<string, Job> {
  const { hooks } = runtime.config;
  const jobs = hooks.mappings.flatMap(({ id, mapping: { schedule } }): Job[] => {
    if (!schedule || !hooks.enabled) return [];
    const rule = toRule(schedule);
    const same = earlier.get(id);
    return [
      same?.rule === rule
        ? same
        : { id, recurrence: schedule, rule, next: compileRecurrence(schedule), dueAt: -Infinity },
    ];
  });
  return new Map(jobs.map((job) => [job.id, job]));
}

function findSchedule({ config: { hooks } }: Runtime, id: string): Recurrence | undefined {
  return hooks.enabled ? hooks.mappings.find((source) => source.id === id)?.mapping.schedule : undefined;
}

function toRule({ cron, timezone, every }: Recurrence = {}): string {
  return JSON.stringify({ cron, timezone, every });
}

function toNote({ id: key, rule }: Job, at: number): NewNote {
  return { kind: SCHEDULE, key, json: JSON.stringify({ rule, at } satisfies Progress) };
}

function toProgress({ json }: Note): Progress {
  const { rule, at } = parseObject(json);
  return { rule: String(rule), at: Number(at) };
}

function toIso(time: number): string {
  return new Date(time).toISOString();
}
