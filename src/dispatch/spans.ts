import type { ClaimedDelivery, ClaimedRun, Entry, Journal } from "../journal/journal.ts";
import { currentTraceparent, inStoredSpan } from "../telemetry/traces.ts";

/** Of this many runs the spans are kept for their deliveries, which mostly follow at once. */
const MAX_KEPT = 1000;

/** A heartbeat is linked to the requests of this many of its events. */
const MAX_LINKS = 16;

/** Does work in spans that belong to the traces of the requests which led to it. */
export interface Spans {
  ofRun(run: ClaimedRun, work: () => Promise<boolean>): Promise<boolean>;
  ofDelivery(delivery: ClaimedDelivery, work: () => Promise<boolean>): Promise<boolean>;
  ofHeartbeat<Result>(runId: string, events: readonly Entry[], work: () => Promise<Result>): Promise<Result>;
}

export function createSpans(journal: Pick<Journal, "getEvent">): Spans {
  const kept = new Map<string, string>();
  return {
    ofRun({ id, eventId, hook, attempts }, work) {
      const origin = async () => {
        const request = await readTraceparent(eventId);
        return { parent: request, links: [request] };
      };
      return inStoredSpan("run", origin, (describe) => {
        keep(id);
        describe?.({
          "hookline.run_id": id,
          "hookline.event_id": eventId,
          "hookline.hook": hook,
          "hookline.attempts": attempts,
        });
        return work();
      });
    },
    ofDelivery({ runId, eventId, channel, attempts }, work) {
      const origin = async () => {
        const request = await readTraceparent(eventId);
        return { parent: kept.get(runId) ?? request, links: [request] };
      };
      return inStoredSpan("delivery", origin, (describe) => {
        describe?.({
          "hookline.run_id": runId,
          "hookline.event_id": eventId,
          "hookline.channel": channel,
          "hookline.attempts": attempts,
        });
        return work();
      });
    },
    ofHeartbeat(runId, events, work) {
      const eventIds = [...new Set(events.map(({ eventId }) => eventId))].slice(0, MAX_LINKS);
      const origin = async () => ({ links: await Promise.all(eventIds.map(readTraceparent)) });
      return inStoredSpan("heartbeat", origin, (describe) => {
        keep(runId);
        describe?.({ "hookline.run_id": runId, "hookline.system_events": events.length });
        return work();
      });
    },
  };

  async function readTraceparent(eventId: string | undefined): Promise<string | undefined> {
    return eventId === undefined ? undefined : (await journal.getEvent(eventId))?.traceparent;
  }

  function keep(runId: string): void {
    const current = currentTraceparent();
    if (current === undefined) return;
    kept.set(runId, current);
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  }
}
