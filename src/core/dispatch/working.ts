import type { ChannelDriver } from "../ports/channel.ts";
import type { ResolvedConfig } from "../config/resolved-config.ts";
import { messageOf } from "../errors.ts";
import type { Journal, Run } from "../journal/journal.ts";
import type { Log } from "../telemetry/log.ts";
import { type ChannelName, listTargets } from "../types.ts";

/**
 * Shows at the places of events that an answer is being written, where their channels can. A mark stays until the reply is
 * there, through all attempts. A failure changes nothing.
 */
export interface WorkMarks {
  /** Shows it at once, unless it is shown already. After a crash this finds the mark that was left, so that it can be removed. */
  show(run: Pick<Run, "action" | "eventId" | "id">): void;
  /** The reply is there, or there is none. */
  remove(runId: string): void;
  removeAll(): void;
}

const START_TIMEOUT_MS = 10_000;

/** How often to look whether another node has sent the reply, or an operator has dropped the run. */
const CHECK_MS = 15_000;

interface Options {
  current(): { channels: ReadonlyMap<ChannelName, ChannelDriver>; config: Pick<ResolvedConfig, "channelRules"> };
  journal: Pick<Journal, "listEvents">;
  log: Log;
}

interface Mark {
  eventId: string | undefined;
  /** Resolves to what takes the mark away. */
  shown: Promise<(() => Promise<void>) | void>;
}

export function createWorkMarks({ current, journal, log }: Options): WorkMarks {
  const marks = new Map<string, Mark>();
  let timer: NodeJS.Timeout | undefined;
  /** The journal may be away for longer than the time between two checks. */
  let isChecking = false;

  return {
    show({ id: runId, eventId, action }) {
      const target = action && listTargets(action).find(({ toSource }) => toSource);
      if (!target) return;
      const { channel, to } = target;
      const { channels, config } = current();
      const driver = channels.get(channel);
      const isDryRun = config.channelRules.get(channel)?.dryRun;
      if (marks.has(runId) || to === undefined || !driver?.startWorking || isDryRun) return;
      const started = driver.startWorking(to, AbortSignal.timeout(START_TIMEOUT_MS));
      const ignore = (error: unknown): void => log.info("no mark of work", { runId, channel, error: messageOf(error) });
      marks.set(runId, { eventId, shown: started.then((stop) => () => stop().catch(ignore)).catch(ignore) });
      timer ??= setInterval(check, CHECK_MS).unref();
    },
    remove,
    removeAll: () => [...marks.keys()].forEach(remove),
  };

  function remove(runId: string): void {
    const mark = marks.get(runId);
    marks.delete(runId);
    void mark?.shown.then((stop) => stop?.());
    if (marks.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function check(): void {
    if (isChecking) return;
    isChecking = true;
    // A rejection comes only at the shutdown, which removes all marks.
    void removeEnded()
      .catch(() => {})
      .finally(() => (isChecking = false));
  }

  /** Removes the marks of finished events. */
  async function removeEnded(): Promise<void> {
    const ids = [...new Set([...marks.values()].flatMap(({ eventId }) => eventId ?? []))];
    const events = await journal.listEvents({ ids, limit: ids.length });
    const open = new Set(events.filter((event) => event.open > 0).map(({ id }) => id));
    for (const [runId, { eventId }] of marks) {
      if (eventId !== undefined && ids.includes(eventId) && !open.has(eventId)) remove(runId);
    }
  }
}
