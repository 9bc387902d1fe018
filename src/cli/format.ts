import { toHunks } from "../core/approvals/question/text-diff.ts";
import { toCommand } from "../core/shared/text/command.ts";
import { basename } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { EventTimeline, EventView } from "../operator/views.ts";
import type { RunView } from "../operator/work-views.ts";
import { toPrintable } from "../core/telemetry/log.ts";
import type { ModuleCost } from "../core/transforms/runner.ts";
import type { LogLine } from "../core/types.ts";
import { style } from "./io.ts";

/** Longer cells are cut so that a table stays readable. */
const MAX_CELL = 72;

/** A text that may hold colors: it is shown as it is. */
interface Styled {
  styled: string;
}

type Cell = string | number | Styled | undefined;

/**
 * Aligns rows in columns under the names of their fields. Undefined is an empty cell; a column without any value is left out.
 * `none`: what to say without rows. `width`: that of the terminal, in which the widest cells are cut so that each row is one line.
 */
export function formatTable(rows: Record<string, Cell>[], none = "", width = Infinity): string[] {
  const [first] = rows;
  if (!first) return [none];
  const head = Object.keys(first).filter((name) => rows.some((row) => row[name] !== undefined));
  const room = width - 2 * (head.length - 1);
  const toWidths = (table: string[][]): number[] =>
    head.map((name, column) => Math.max(name.length, ...table.map((row) => widthOf(row[column]))));
  const whole = rows.map((row) => head.map((name) => toCell(row[name])));
  const cells = sum(toWidths(whole)) > room ? whole.map((row) => row.map(shortenTime)) : whole;
  const isWhole = head.map((_, column) => cells.every((row) => WHOLE.test(row[column] ?? "")));
  const widths = fit(toWidths(cells), isWhole, room);
  const align = (row: string[]): string =>
    row
      .map((cell, column) => {
        const own = widths[column] ?? 0;
        const shown = widthOf(cell) > own ? toExcerpt(stripVTControlCharacters(cell), own) : cell;
        return shown + " ".repeat(own - widthOf(shown));
      })
      .join("  ")
      .trimEnd();
  return [style("dim", align(head)), ...cells.map(align)];
}

/** A time without its year and its seconds: one that is cut would only name the day. */
function shortenTime(cell: string): string {
  return cell.replace(/^\d{4}-(\d\d-\d\d)T(\d\d:\d\d):\d\d(\.\d+)?Z$/, "$1 $2");
}

const MIN_WIDTH = 6;
/** Short ids and times: what is left of one that is cut no longer says which. */
const WHOLE = /^(?:[\da-f]{8}-[\da-f]{4,6}|\d\d-\d\d \d\d:\d\d|)$/;

/** The widest become narrower until all have room, except those that must stay whole. */
function fit(widths: number[], isWhole: boolean[], room: number): number[] {
  const fitted = [...widths];
  for (let over = sum(fitted) - room; over > 0; over--) {
    const widest = Math.max(...fitted.filter((_, column) => !isWhole[column]));
    if (widest <= MIN_WIDTH) break;
    fitted[fitted.findIndex((width, column) => width === widest && !isWhole[column])] = widest - 1;
  }
  return fitted;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** A line for each fact that is known: its name, then its value. */
export function formatFacts(facts: [name: string, value: string | undefined][]): string[] {
  return facts.flatMap(([name, value]) =>
    value === undefined ? [] : [`${style("dim", name.padEnd(FACT_WIDTH))}${toPrintable(value)}`],
  );
}

const FACT_WIDTH = 9;

function widthOf(cell = ""): number {
  return stripVTControlCharacters(cell).length;
}

function toCell(value: Cell): string {
  if (typeof value === "object") return value.styled;
  return toExcerpt(String(value ?? ""), MAX_CELL);
}

/** A time in ISO 8601 without its milliseconds. */
export function toSeconds(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}

/** The time in milliseconds, with which a UUIDv7 begins: others than the listed ones rarely share it. */
const MIN_ID = "01a202af-22a2".length;

/** Shortens each of the ids to the same length, at which they differ. */
export function shortenIds(ids: string[]): (id: string) => string {
  const different = new Set(ids).size;
  let length = MIN_ID;
  while (new Set(ids.map((id) => id.slice(0, length))).size < different) length++;
  return (id) => id.slice(0, length);
}

/** The kind of each action, then a field a line; a text of several lines goes below its name. */
export function formatActions(actions: object[], skipped = "no action"): string[] {
  if (actions.length === 0) return [`skipped: ${toPrintable(skipped)}`];
  return actions.flatMap((action) =>
    Object.entries(action).flatMap(([name, value]: [string, unknown]) => formatField(name, value)),
  );
}

function formatField(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (typeof value !== "string") return [`  ${name}: ${JSON.stringify(value)}`];
  if (name === "kind") return [value];
  const text = toPrintable(value);
  if (!text.includes("\n")) return [`  ${name}: ${text}`];
  return [`  ${name}:`, ...text.split("\n").map((line) => `    ${line}`.trimEnd())];
}

const COLORS = { debug: "dim", log: "dim", info: "cyan", warn: "yellow", error: "red" } as const;

/** Console lines of a transform; further lines of a text are aligned with its first. */
export function formatLog(log: LogLine[]): string[] {
  return log.flatMap(({ level, text }) => {
    const label = `${level}: `;
    const [first = "", ...rest] = toPrintable(text).split("\n");
    return [style(COLORS[level], label) + first, ...rest.map((line) => " ".repeat(label.length) + line)];
  });
}

/** `1 attempt`, `3 attempts`. */
export function formatCount(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** An event's outcome, in the color of its end. */
export function formatOutcome({ outcome, status }: Pick<EventView, "outcome" | "status">): string {
  const line = toExcerpt(outcome, MAX_OUTCOME);
  if (status === "failed") return style("red", line);
  if (status === "refused") return style("yellow", line);
  return status === "skipped" || status === "canceled"
    ? style("dim", line)
    : line.replace(/ ✓$/, ` ${style("green", "✓")}`);
}

const MAX_OUTCOME = 120;

/** Text from outside as part of a line. */
export function toExcerpt(text: string, max = Infinity): string {
  const line = toPrintable(text.slice(0, 4 * max))
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** `34 ms`, `3.2 s`, `4 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** Two texts line by line, with the lines in which they differ. */
export function formatDiff(
  expected: string[],
  given: string[],
  names = { expected: "expected", given: "given" },
): string[] {
  const [before, after] = [expected, given].map((lines) => lines.flatMap((text) => text.split("\n")).join("\n"));
  const changes = (toHunks(`${before}\n`, `${after}\n`) ?? []).flatMap(
    ({ oldStart, oldLines, newStart, newLines, lines }) => [
      style("yellow", `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`),
      ...lines.map((line) => style(CHANGE_COLORS[line[0] ?? ""] ?? "dim", `${line[0]} ${line.slice(1)}`)),
    ],
  );
  return [style("red", `- ${names.expected}`), style("green", `+ ${names.given}`), "", ...changes];
}

const CHANGE_COLORS: Record<string, "red" | "green"> = { "-": "red", "+": "green" };

/** The newest last, where the prompt is. */
export function formatEvents(events: EventView[], width?: number): string[] {
  const short = shortenIds(events.flatMap(({ id, replayOf = id }) => [id, replayOf]));
  const rows = events
    .toReversed()
    .map(({ id, receivedAt, status, hook, mapping, event, subject, replayOf, outcome }) => ({
      id: short(id),
      // The ids tell the order: seconds are enough.
      received: toSeconds(receivedAt),
      status,
      hook,
      mapping: mapping === hook ? undefined : mapping,
      event,
      subject,
      "replay of": replayOf && short(replayOf),
      outcome: { styled: formatOutcome({ outcome, status }) },
    }));
  return formatTable(rows, "No events match.", width);
}

/** The rest is printed with `--payload`. */
const MAX_PAYLOAD_LINES = 30;

/** Everything about an event for a person: what went wrong, what it led to, and last the request. */
export function formatEvent(event: EventTimeline, { maxPayloadLines = MAX_PAYLOAD_LINES } = {}): string[] {
  const { method, path, client, payload } = event.request;
  const lines = toLines(payload);
  const omitted = lines.length - maxPayloadLines;
  return [
    `${style("bold", event.id)}  ${toPrintable(event.hook)}  ${event.status}`,
    formatOutcome(event),
    ...section("error", listErrors(event)),
    "",
    `received ${event.receivedAt}`,
    ...(event.replayOf ? [`replay of ${event.replayOf}`] : []),
    ...(event.replayedBy ? [`replayed as ${event.replayedBy}`] : []),
    ...(event.mapping ? [`mapping ${event.mapping}`] : []),
    ...(event.event ? [`event ${toPrintable(event.event)}`] : []),
    ...(event.subject ? [`subject ${toPrintable(event.subject)}`] : []),
    ...(event.reason ? [`skipped: ${toPrintable(event.reason)}`] : []),
    ...section("warnings", event.warnings),
    ...section("log", formatLog(event.log)),
    ...event.runs.flatMap((run) =>
      section(`run ${run.id}  ${formatState(run)}`, [
        ...(run.action ? formatActions([run.action]) : []),
        ...formatFailedAttempts(run.failedAttempts),
        ...(run.reply === undefined ? [] : [style("dim", "reply:"), ...toLines(run.reply).map((line) => `  ${line}`)]),
        ...formatLastError(run),
      ]),
    ),
    ...event.deliveries.flatMap((delivery) =>
      section(`delivery ${delivery.id}  ${formatState(delivery)}`, [
        formatRoute(delivery.route ?? delivery),
        ...formatFailedAttempts(delivery.failedAttempts),
        ...formatLastError(delivery),
        ...delivery.warnings.map(toPrintable),
      ]),
    ),
    ...section("request", [
      `${method} ${path} from ${client}`,
      ...lines.slice(0, maxPayloadLines),
      ...(omitted > 0 && maxPayloadLines > 0
        ? [style("dim", `… ${formatCount(omitted, "more line")}: --payload shows all`)]
        : []),
    ]),
  ];
}

/** A line for each: when it ended, how long it took, and the first line of its error. */
export function formatFailedAttempts(attempts: RunView["failedAttempts"] = []): string[] {
  return attempts.flatMap(({ n, startedAt, endedAt, error, warnings = [] }) => {
    const ms = endedAt === undefined ? undefined : Date.parse(endedAt) - Date.parse(startedAt);
    const facts = [`attempt ${n} failed`, endedAt ?? startedAt, ms === undefined ? undefined : formatDuration(ms)];
    const shown = `${style("dim", facts.filter(Boolean).join("  "))}  ${toExcerpt(error.split("\n", 1)[0] ?? "", MAX_OUTCOME)}`;
    return [shown, ...warnings.map((warning) => `  ${toExcerpt(warning, MAX_OUTCOME)}`)];
  });
}

/** Errors of the request, and of the runs and deliveries that have failed, and how to try these again. */
function listErrors({ id, error, runs, deliveries }: EventTimeline): string[] {
  const failed = [
    ...runs.filter(isFailed).map((run) => `run failed: ${toPrintable(run.error ?? "")}`),
    ...deliveries.filter(isFailed).map((delivery) => `delivery failed: ${toPrintable(delivery.error ?? "")}`),
  ];
  return [
    ...(error ? [`${error.code}: ${toPrintable(error.message)}`, ...toLines(error.detail)] : []),
    ...failed,
    ...(failed.length > 0 ? [`try again: ${toCommand("dead-letters retry", id)}`] : []),
  ];
}

type Work = EventTimeline["runs"][number] | EventTimeline["deliveries"][number];

function isFailed({ state }: Work): boolean {
  return state === "failed";
}

/** `done, 1 attempt`; without attempts, as while a model cannot be reached, the state alone. */
function formatState({ state, attempts }: Work): string {
  return attempts === 0 ? state : `${state}, ${formatCount(attempts, "attempt")}`;
}

/** The error of work that goes on, or was canceled, unless the line of its last attempt says it whole. */
function formatLastError(work: Work): string[] {
  const { error, failedAttempts } = work;
  const isSaid = error === failedAttempts?.at(-1)?.error && error === toExcerpt(error ?? "", MAX_OUTCOME);
  return isFailed(work) || isSaid ? [] : toLines(error);
}

function section(title: string, lines: string[]): string[] {
  if (lines.length === 0) return [];
  return ["", style("dim", title), ...lines.map((line) => `  ${line}`)];
}

function formatRoute({ channel, to, thread }: { channel: string; to?: string; thread?: string }): string {
  const where = thread === undefined ? "" : `, thread ${toPrintable(thread)}`;
  return to === undefined ? `on ${channel}` : `to ${toPrintable(to)} on ${channel}${where}`;
}

/** A text as it is, anything else as JSON, nothing for undefined. */
function toLines(value: unknown): string[] {
  if (value === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  return toPrintable(text).split("\n");
}

/** `build.ts 680 KB, loaded in 5.1 ms by each call; "zod" has 650 KB of it`. */
export function formatModule({ file, bytes, loadMs = 0, packages: [largest] }: ModuleCost): string {
  const most = largest ? `; "${largest.name}" has ${formatSize(largest.bytes)} of it` : "";
  return `${basename(file)} ${formatSize(bytes)}, loaded in ${loadMs.toFixed(1)} ms by each call${most}`;
}

function formatSize(bytes: number): string {
  const kb = bytes / 1024;
  return `${kb < 10 ? kb.toFixed(1) : Math.ceil(kb)} KB`;
}
