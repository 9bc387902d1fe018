import { ConfigError } from "../../errors.ts";
import { createOperatorClient, type OperatorClient, readEventRows } from "../operator-client.ts";
import { type EventFlags, toFilter } from "./events.ts";

/** What came of one replay. */
interface Replay {
  id: string;
  /** What the sender would be answered. */
  status: number;
  /** The new event. */
  eventId?: string;
  error?: string;
}

/**
 * Runs events again, the oldest first: those that are named, or those that the filter finds. With `dryRun` it only counts
 * them. Exit code 1 where one is refused.
 */
export async function replayEvents(
  ids: string[],
  flags: EventFlags & { dryRun: boolean; json: boolean },
): Promise<void> {
  const client = await createOperatorClient(flags);
  const chosen = ids.length > 0 ? ids : await findIds(client, flags);
  const replays: Replay[] = [];
  for (const id of flags.dryRun ? [] : chosen) {
    const replay = await replayEvent(client, id);
    if (!flags.json) console.log(printReplay(replay));
    if (replay.error) process.exitCode = 1;
    replays.push(replay);
  }
  if (flags.json) console.log(JSON.stringify({ count: chosen.length, replays }, undefined, 2));
  else if (flags.dryRun) console.log(`${chosen.length} would be replayed.`);
  else console.log(`${replays.filter(({ error }) => !error).length} of ${chosen.length} replayed.`);
}

/** All of them before the first is replayed: what a replay adds would be found too. */
async function findIds(client: OperatorClient, flags: EventFlags): Promise<string[]> {
  const filter = toFilter(flags);
  if (Object.values(filter).every((value) => value === undefined)) throw nothingChosen();
  const ids: string[] = [];
  for await (const { id } of readEventRows(client, filter)) ids.push(id);
  return ids.toReversed();
}

async function replayEvent(client: OperatorClient, id: string): Promise<Replay> {
  const response = await client.send("POST", `/api/events/${encodeURIComponent(id)}/replay`);
  const text = await response.text();
  const { eventId, error }: { eventId?: string; error?: string } = text === "" ? {} : JSON.parse(text);
  return { id, status: response.status, eventId, error };
}

function printReplay({ id, status, eventId, error }: Replay): string {
  return `${id}  ${status}  ${error ?? eventId ?? "skipped"}`;
}

function nothingChosen(): ConfigError {
  const message = "Name events by their ids, or choose them with --hook, --status, --since or --until.";
  return new ConfigError([{ message }]);
}
