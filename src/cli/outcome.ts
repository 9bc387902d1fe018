import { HTTP_ERRORS } from "../errors.ts";
import type { EventTimeline } from "../operator/views.ts";
import { toPrintable } from "../telemetry/log.ts";
import { formatCount, formatDuration } from "./format.ts";
import { style } from "./io.ts";

/** How many characters of an error or a reason are shown. */
const MAX_WORDS = 80;

type Run = EventTimeline["runs"][number];
type Delivery = EventTimeline["deliveries"][number];

/** What became of an event, in a few words: `turn 3.2 s → slack C01 ✓`, `skipped: own bot`, `500 transform_failed: …`. */
export function describeOutcome({ error, reason, actions, runs, deliveries }: EventTimeline): string {
  if (error) return describeError(error);
  if (actions.length === 0) return style("dim", reason === undefined ? "skipped" : `skipped: ${firstWords(reason)}`);
  const wakes = actions.filter(({ kind }) => kind === "wake");
  const parts = wakes.slice(0, 1).map(({ mode }) => `wake (${wakes.length === 1 ? mode : wakes.length})`);
  const [run] = runs;
  if (run && runs.length === 1) parts.push([describeRun(run), ...deliveries.map(describeDelivery)].join(" → "));
  else if (runs.length > 1)
    parts.push([`${runs.length} turns: ${countStates(runs)}`, ...countSent(deliveries)].join(" → "));
  else if (wakes.length === 0) parts.push("joins a waiting turn");
  return parts.join(" · ");
}

/** `401 unauthorized: The token is missing or wrong.` The status of an error of the table is known. */
export function describeError({ code, message }: { code: string; message: string }, given?: number): string {
  const known: Record<string, { status: number }> = HTTP_ERRORS;
  const status = given ?? known[code]?.status ?? 500;
  return `${style(status < 500 ? "yellow" : "red", `${status} ${toPrintable(code)}`)}: ${firstWords(message)}`;
}

function describeRun({ state, error, attempts, startedAt, finishedAt }: Run): string {
  if (state === "done") return `turn ${formatDuration(Date.parse(finishedAt ?? "") - Date.parse(startedAt ?? ""))}`;
  if (state === "dead" || state === "dropped") return `${style("red", "turn failed")}: ${firstWords(error)}`;
  if (error === undefined || state === "running") return style("dim", `turn ${state}…`);
  return `${style("yellow", `attempt ${attempts} failed, will try again`)}: ${firstWords(error)}`;
}

function describeDelivery({ state, channel, to, route, error }: Delivery): string {
  const target = [route?.channel ?? channel, toPrintable(route?.to ?? to ?? "")].join(" ").trim();
  if (state === "sent") return `${target} ${style("green", "✓")}`;
  if (state === "skipped") return style("dim", `not sent (${firstWords(error)})`);
  if (state === "failed" || state === "dropped") return `${target} ${style("red", "✗")} ${firstWords(error)}`;
  if (error === undefined) return style("dim", `${target} ${state}…`);
  return `${target} ${style("yellow", "failed, will try again")}: ${firstWords(error)}`;
}

function countStates(runs: Run[]): string {
  const states = Map.groupBy(runs, ({ state }) => state);
  return [...states].map(([state, { length }]) => `${length} ${state}`).join(", ");
}

function countSent(deliveries: Delivery[]): string[] {
  const wanted = deliveries.filter(({ state }) => state !== "skipped");
  const sent = wanted.filter(({ state }) => state === "sent").length;
  return wanted.length === 0 ? [] : [`${sent} of ${formatCount(wanted.length, "message")} sent`];
}

/** One line of a text. */
export function firstWords(text = "", max = MAX_WORDS): string {
  const line = toPrintable(text.slice(0, 4 * max))
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}
