import { ConfigError } from "../../errors.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import { createOperatorClient, type OperatorClient } from "../operator-client.ts";
import { type FilterFlags, findId, readEvents, toFilter } from "./find-events.ts";

export type ReplayFlags = FilterFlags & { dryRun: boolean; json: boolean };

/** Replays the oldest event first. Exit code 1 when one is refused. */
export async function replayEvents(ids: string[], flags: ReplayFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const named = await Promise.all(ids.map((id) => findId(client, id)));
  const chosen = named.length > 0 ? named : await findIds(client, flags);
  const replays: Replay[] = [];
  for (const id of flags.dryRun ? [] : chosen) {
    const replay = await replayEvent(client, id);
    // A handshake, say: nobody has named it.
    const isLeftOut = named.length === 0 && replay.code === "no_stored_body";
    if (!flags.json) print(io, formatReplay(replay, isLeftOut));
    if (isLeftOut) continue;
    if (replay.error) io.exitCode = 1;
    replays.push(replay);
  }
  if (flags.json) printJson(io, { count: chosen.length, replays });
  else if (flags.dryRun) print(io, `${chosen.length} would be replayed.`);
  else print(io, `${replays.filter(({ error }) => !error).length} of ${chosen.length} replayed.`);
}

/** All of them before the first replay: the search would find the new events too. */
async function findIds(client: OperatorClient, flags: FilterFlags): Promise<string[]> {
  if (Object.values(toFilter(flags)).every((value) => value === undefined)) {
    const message = "Name events by their ids, or choose them with --hook, --status, --since or --until.";
    throw new ConfigError([{ message }]);
  }
  const events = await Array.fromAsync(readEvents(client, flags));
  return events.map(({ id }) => id).toReversed();
}

interface Replay {
  id: string;
  /** The status that the sender would get. */
  status: number;
  /** The new event. */
  eventId?: string;
  error?: string;
  code?: string;
}

function formatReplay({ id, status, error, eventId }: Replay, isLeftOut: boolean): string {
  if (isLeftOut) return style("dim", `${id}  left out: its body was not stored`);
  return `${id}  ${error === undefined ? status : style("red", String(status))}  ${error ?? eventId ?? "skipped"}`;
}

async function replayEvent(client: OperatorClient, id: string): Promise<Replay> {
  const response = await client.send("POST", `/api/events/${encodeURIComponent(id)}/replay`);
  const text = await response.text();
  const { eventId, error, code }: Partial<Replay> = text === "" ? {} : JSON.parse(text);
  return { id, status: response.status, eventId, error, code };
}
