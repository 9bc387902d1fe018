import type { EventTimeline } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import type { AnsweredRequest, RequestFollower } from "../../telemetry/telemetry.ts";
import { formatCount, formatLog } from "../format.ts";
import { type CliIo, print, style } from "../io.ts";

/** A turn that takes longer is announced before it ends. */
const SLOW_MS = 1000;

/** What changes within this time is shown once. It also bounds how often a request with many turns is read. */
const GATHER_MS = 50;

/** How many requests the view remembers, and how many may wait to be shown. */
const MAX_REQUESTS = 1000;

/** How many characters of a reply or an error are shown. */
const MAX_WORDS = 80;

/** Prints one line for each request, once it is known what became of it; errors and transform logs below it. */
export function createLiveView(io: CliIo, read: (id: string) => Promise<EventTimeline | undefined>): RequestFollower {
  const answers = new Map<string, AnsweredRequest>();
  const shown = new Map<string, string>();
  /** By id: whether the request is slow, so that it is shown while it is running. */
  let waiting = new Map<string, boolean>();
  let omitted = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    answered(request) {
      remember(answers, request.id, request);
      enqueue(request.id, false);
    },
    changed: (id) => enqueue(id, false),
    close: showWaiting,
  };

  function enqueue(id: string, isSlow: boolean): void {
    if (waiting.size >= MAX_REQUESTS) omitted++;
    else waiting.set(id, isSlow);
    timer ??= setTimeout(() => void showWaiting(), GATHER_MS).unref();
  }

  async function showWaiting(): Promise<void> {
    clearTimeout(timer);
    const batch = waiting;
    waiting = new Map();
    for (const [id, isSlow] of batch) await show(id, isSlow);
    if (omitted > 0) print(io, style("dim", `… and ${formatCount(omitted, "more change")}: webhooks events list`));
    omitted = 0;
    timer = waiting.size > 0 ? setTimeout(() => void showWaiting(), GATHER_MS).unref() : undefined;
  }

  async function show(id: string, isSlow: boolean): Promise<void> {
    const event = await read(id).catch(() => undefined);
    const answer = answers.get(id);
    const inProgress = event !== undefined && isInProgress(event);
    if (inProgress && !isSlow) {
      setTimeout(() => enqueue(id, true), SLOW_MS).unref();
      return;
    }
    // The answer follows its commit. A replay has none here.
    if (event?.runs.length === 0 && !answer && !event.replayOf) return;
    const outcome = event ? describeEvent(event, answer) : answer && describeAnswer(answer);
    if (!outcome || shown.get(id) === outcome[0]) return;
    remember(shown, id, outcome[0]);
    const durationMs = (event && turnMs(event)) ?? answer?.durationMs;
    print(io, ...toLines(outcome, inProgress ? undefined : durationMs));
  }
}

function remember<Value>(map: Map<string, Value>, id: string, value: Value): void {
  map.set(id, value);
  const [oldest] = map.keys();
  if (map.size > MAX_REQUESTS && oldest !== undefined) map.delete(oldest);
}

/** The line, and what is printed below it. */
type Outcome = [line: string, ...details: string[]];

/** Nothing to say yet: it may end in a moment. A failed attempt is something to say. */
function isInProgress({ status, runs, deliveries }: EventTimeline): boolean {
  return status === "accepted" && [...runs, ...deliveries].every(({ error }) => error === undefined);
}

function describeAnswer({ method, path, status, error }: AnsweredRequest): Outcome {
  const request = `${method} ${toPrintable(path)}`;
  if (!error) return [`${request} → ${status}, the answer to an earlier request with the same idempotency key`];
  return [`${request} → ${describeError(error, status)}`];
}

function describeError({ code, message }: { code: string; message: string }, status = 500): string {
  return `${style(status < 500 ? "yellow" : "red", `${status} ${code}`)}: ${message}`;
}

function describeEvent(event: EventTimeline, answer: AnsweredRequest | undefined): Outcome {
  const { id, hook, mapping, replayOf, warnings, log, error } = event;
  const name = [replayOf ? `replay of ${hook}` : hook, ...(mapping === undefined ? [] : [mapping])].join(" → ");
  const outcome = event.error ? describeError(event.error, answer?.status) : describeResult(event);
  const isFailure = ["rejected", "failed", "dead"].includes(event.status);
  return [
    `${toPrintable(name)} → ${outcome}`,
    ...warnings.map((warning) => style("yellow", toPrintable(warning))),
    ...formatLog(log),
    ...(error?.detail === undefined ? [] : toPrintable(error.detail).split("\n")),
    ...(isFailure ? [style("dim", `webhooks events show ${id}`)] : []),
  ];
}

function describeResult({ reason, actions, runs, deliveries }: EventTimeline): string {
  if (actions.length === 0) return style("dim", reason === undefined ? "skipped" : `skipped: ${toPrintable(reason)}`);
  const wakes = actions.filter(({ kind }) => kind === "wake");
  const parts = wakes.slice(0, 1).map(({ mode }) => `wake (${wakes.length === 1 ? mode : wakes.length})`);
  const [run] = runs;
  if (runs.length === 1 && run) parts.push(describeRun(run), ...deliveries.map(describeDelivery));
  else if (runs.length > 1) parts.push(`${runs.length} turns: ${countStates(runs)}`);
  else if (wakes.length === 0) parts.push("joins a waiting turn");
  return parts.filter((part) => part !== "").join(" · ");
}

type Run = EventTimeline["runs"][number];
type Delivery = EventTimeline["deliveries"][number];

function describeRun({ state, error, attempts, reply }: Run): string {
  if (state === "done") return `reply: ${firstWords(reply)}`;
  if (state === "dead") return `${style("red", "turn failed")}: ${firstWords(error)}`;
  if (error === undefined || state === "running") return style("dim", `agent turn ${state}…`);
  return `${style("yellow", `attempt ${attempts} failed, will try again`)}: ${firstWords(error)}`;
}

function describeDelivery({ state, channel, route, error }: Delivery): string {
  if (state === "sent") return `sent to ${route?.channel ?? channel} ${toPrintable(route?.to ?? "")}`;
  if (state === "skipped") return style("dim", `not sent (${error})`);
  if (error === undefined) return style("dim", `delivery ${state}…`);
  return `${style("red", `delivery ${state === "failed" ? "failed" : "failed, will try again"}`)}: ${firstWords(error)}`;
}

/** One line of a text. */
function firstWords(text = ""): string {
  const line = toPrintable(text.slice(0, 4 * MAX_WORDS))
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS - 1)}…` : line;
}

/** From the request to the end of what it led to, in milliseconds. */
function turnMs({ receivedAt, runs, deliveries }: EventTimeline): number | undefined {
  const ends = [...runs.map(({ finishedAt }) => finishedAt), ...deliveries.map(({ sentAt }) => sentAt)];
  const last = ends
    .flatMap((end) => end ?? [])
    .toSorted()
    .at(-1);
  return last === undefined ? undefined : Date.parse(last) - Date.parse(receivedAt);
}

function countStates(runs: Run[]): string {
  const states = Map.groupBy(runs, ({ state }) => state);
  return [...states].map(([state, { length }]) => `${length} ${state}`).join(", ");
}

function toLines([line, ...details]: Outcome, durationMs: number | undefined): string[] {
  const clock = style("dim", new Date().toTimeString().slice(0, 8));
  const time = durationMs === undefined ? "" : style("dim", ` ${Math.round(durationMs)} ms`);
  return [`${clock} ${line}${time}`, ...details.map((detail) => `         ${detail}`.trimEnd())];
}
