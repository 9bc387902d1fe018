import { type Meter, silentMeter } from "../telemetry/telemetry.ts";
import type { EventStatus } from "../types.ts";

const MINUTE_MS = 60_000;
const MAX_MINUTES = 180;
const MAX_MAPPINGS = 1000;

export interface Minute {
  /** Its beginning. */
  at: number;
  /** Answered requests to hooks, also refused ones. */
  requests: number;
  /** Requests that were answered 4xx or 5xx. */
  clientErrors: number;
  serverErrors: number;
  /** The time to the answer in milliseconds, of all of them and of the slowest. */
  totalMs: number;
  maxMs: number;
  turns: number;
  failedTurns: number;
}

/** Events by how they began. */
export type EventCounts = { [Status in EventStatus]?: number };

/** The activity of a mapping since the start of the service. */
export interface MappingUse {
  events: EventCounts;
  lastAt: number;
  lastFailureAt?: number;
}

/** Recent activity, in memory. */
export interface Activity extends Meter {
  /** The last three hours, oldest first; minutes without anything are left out. */
  minutes(): Minute[];
  /** By mapping, since the start; the service's own hooks are among them. */
  uses(): ReadonlyMap<string, MappingUse>;
}

export function createActivity(): Activity {
  let minutes: Minute[] = [];
  const uses = new Map<string, MappingUse>();

  return {
    ...silentMeter,
    answered({ status, ms }) {
      const minute = current();
      minute.requests++;
      if (status >= 500) minute.serverErrors++;
      else if (status >= 400) minute.clientErrors++;
      minute.totalMs += ms;
      minute.maxMs = Math.max(minute.maxMs, ms);
    },
    recorded({ mapping, status }) {
      if (mapping === undefined) return;
      const use = uses.get(mapping) ?? { events: {}, lastAt: 0 };
      if (uses.size < MAX_MAPPINGS) uses.set(mapping, use);
      use.events[status] = (use.events[status] ?? 0) + 1;
      use.lastAt = Date.now();
      if (status === "rejected" || status === "failed") use.lastFailureAt = use.lastAt;
    },
    turned({ result }) {
      const minute = current();
      if (result === "done") minute.turns++;
      else if (result === "dead") minute.failedTurns++;
    },
    minutes: () => minutes.filter(({ at }) => at > Date.now() - MAX_MINUTES * MINUTE_MS),
    uses: () => uses,
  };

  function current(): Minute {
    const at = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
    const last = minutes.at(-1);
    if (last && last.at >= at) return last;
    const minute = {
      at,
      requests: 0,
      clientErrors: 0,
      serverErrors: 0,
      totalMs: 0,
      maxMs: 0,
      turns: 0,
      failedTurns: 0,
    };
    minutes = [...minutes.slice(1 - MAX_MINUTES), minute];
    return minute;
  }
}
