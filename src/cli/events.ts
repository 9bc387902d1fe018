import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type EventFilter, type EventRow, readEventRows } from "./event-rows.ts";
import { toMoment } from "./moment.ts";
import { createOperatorClient, type ServiceFlags } from "./operator-client.ts";
import { type EventTimeline, printEvent } from "./print-event.ts";
import { printTable } from "./print-table.ts";

/** `since` and `until` as a person names moments. */
export type EventFlags = ServiceFlags & EventFilter;

/** Lists events, newest first. */
export async function listEvents(flags: EventFlags & { limit: number; json: boolean }): Promise<void> {
  const client = await createOperatorClient(flags);
  const events: EventRow[] = [];
  for await (const event of readEventRows(client, toFilter(flags))) {
    if (events.push(event) === flags.limit) break;
  }
  if (flags.json) console.log(JSON.stringify(events, undefined, 2));
  else if (events.length === 0) console.log("There are no such events.");
  else console.log(printEventTable(events).join("\n"));
}

/** Shows everything about one event. */
export async function showEvent(id: string, flags: ServiceFlags & { json: boolean }): Promise<void> {
  const client = await createOperatorClient(flags);
  const response = await client.call("GET", `/api/events/${encodeURIComponent(id)}`);
  const event: EventTimeline = JSON.parse(await response.text());
  console.log(flags.json ? JSON.stringify(event, undefined, 2) : printEvent(event).join("\n"));
}

/** Writes all these events to standard output, everything about each in a line of JSON, newest first. */
export async function exportEvents(flags: EventFlags): Promise<void> {
  const client = await createOperatorClient(flags);
  const { body } = await client.call("GET", "/api/events/export", { ...toFilter(flags) });
  if (body) await pipeline(Readable.fromWeb(body), process.stdout).catch(ignoreClosedPipe);
}

/** The filter that the flags name. */
export function toFilter({ hook, status, since, until }: EventFlags): EventFilter {
  const now = Date.now();
  return { hook, status, since: toMoment(since, now), until: toMoment(until, now) };
}

/** `… export | head` has read enough. */
function ignoreClosedPipe(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) throw error;
}

function printEventTable(events: EventRow[]): string[] {
  const rows = events.map(({ id, receivedAt, hook, mapping, status, replayOf }) => [
    id,
    toSecond(receivedAt),
    status,
    hook,
    mapping,
    replayOf && `replay of ${replayOf}`,
  ]);
  return printTable(["id", "received", "status", "hook", "mapping", ""], rows);
}

/** As exact as a list needs it: the ids tell the order. */
function toSecond(moment: string): string {
  return moment.replace(/\.\d+Z$/, "Z");
}
