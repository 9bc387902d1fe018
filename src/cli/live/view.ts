import { toCommand } from "../../core/shared/text/command.ts";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { type ConfigProblem, toSentence } from "../../core/errors.ts";
import type { StatusView } from "../../operator/status.ts";
import type { AnswerView, EventTimeline, OperatorAnswers } from "../../operator/views.ts";
import type { ReloadCause } from "../../service/runtime/reload.ts";
import { parseObject, toText } from "../../core/shared/json.ts";
import type { ModuleCost } from "../../core/transforms/runner.ts";
import { isRequest } from "../../core/shared/words.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { formatCount, formatDuration, formatLog, formatModule, formatOutcome, toExcerpt } from "../format.ts";
import { type CliIo, print, printJsonLine, style, wrapWords } from "../io.ts";

/** A turn that takes longer is announced before it ends, and an event whose answer takes longer is shown without it. */
const SLOW_MS = 1000;

/** Changes within this time are shown once. It also bounds how often a request with many turns is read. */
const GATHER_MS = 50;

/** How many requests the view remembers, and how many may wait to be shown. */
const MAX_REQUESTS = 1000;

const MAX_REPLY_LINES = 6;
const MAX_REPLY_LINE = 160;
const MAX_ABOUT = 80;

export interface LiveViewOptions {
  io: CliIo;
  /** The event's timeline so far; undefined if there is none. */
  read(id: string): Promise<EventTimeline | undefined>;
  /** Prints one JSON object for each change instead of lines. */
  json?: boolean;
  /** Whether to show it. Default: everything. */
  isWanted?(event: EventTimeline | undefined): boolean;
}

export interface LiveView {
  /** Shows a message of the live stream, which has the answers. */
  take(message: LiveMessage): void;
  /** The id of the latest event that was shown. */
  latest(): string | undefined;
  /** Shows what is left. */
  close(): Promise<void>;
}

type Refusal = OperatorAnswers["GET /api/rejections"]["rejections"][number];
type ReloadView = Pick<StatusView, "config" | "lastReloadError"> & ReloadCause;

/** Prints a line for each request, once it is known what became of it; its reply, errors and transform logs below it. */
export function createLiveView({ io, read, json = false, isWanted = () => true }: LiveViewOptions): LiveView {
  const answers = new Map<string, AnswerView>();
  /** Hints for the operator on refused requests, which their senders do not get. */
  const hints = new Map<string, string>();
  const shown = new Map<string, string>();
  /** By id: whether the request is slow, so that it is shown while it is running. */
  let waiting = new Map<string, boolean>();
  let omitted = 0;
  let timer: NodeJS.Timeout | undefined;
  let latest: string | undefined;
  return {
    take({ name, data }) {
      if (name === "event") enqueue(toText(parseObject(data)["id"]), false);
      else if (name === "answer") takeAnswer(JSON.parse(data));
      else if (name === "rejection") takeRefusal(JSON.parse(data));
      else if (name === "reload") showReload(JSON.parse(data));
      else if (name === "gap" && !json) print(io, style("dim", "… some changes were missed: npx hookline events list"));
    },
    latest: () => latest,
    close: showWaiting,
  };

  function printLines(lines: string[]): void {
    print(io, ...lines.flatMap((line) => wrapWords(io, line, INDENT)));
  }

  function takeAnswer(answer: AnswerView): void {
    const hint = hints.get(answer.id);
    if (answer.error && hint !== undefined) answer.error.message += ` (${hint})`;
    remember(answers, answer.id, answer);
    enqueue(answer.id, false);
  }

  function takeRefusal({ id, hint }: Refusal): void {
    if (hint !== undefined) remember(hints, id, hint);
  }

  function showReload({ config: { generation, modules }, lastReloadError, changed, ms }: ReloadView): void {
    const changedModules = modules.filter(
      ({ file, packages }) =>
        changed?.includes(path.basename(file)) ||
        packages.some(({ name }) => changed?.includes(`node_modules/${name}/package.json`)),
    );
    const reload = { generation, changed, ms, modules: changedModules, problems: lastReloadError?.problems ?? [] };
    if (json) printJsonLine(io, { reload });
    else printLines(describeReload(reload));
  }

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
    if (omitted > 0) print(io, style("dim", `… and ${formatCount(omitted, "more change")}: npx hookline events list`));
    omitted = 0;
    timer = waiting.size > 0 ? setTimeout(() => void showWaiting(), GATHER_MS).unref() : undefined;
  }

  async function show(id: string, isSlow: boolean): Promise<void> {
    const event = await read(id).catch(() => undefined);
    const answer = answers.get(id);
    const inProgress = event !== undefined && isInProgress(event);
    // The answer follows its commit. A replay has none, and the answer of another node is not known here.
    const isUnanswered = event?.runs.length === 0 && !answer && !event.replayOf;
    if ((inProgress || isUnanswered) && !isSlow) {
      setTimeout(() => enqueue(id, true), SLOW_MS).unref();
      return;
    }
    if (!event && !answer) return;
    if (!isWanted(event)) return;
    const lines = event ? describeEvent(event) : describeAnswer(answer);
    const [line = ""] = lines;
    if (shown.get(id) === line) return;
    remember(shown, id, line);
    if (event) latest = id;
    if (json) return printJsonLine(io, toRecord(event, answer));
    const durationMs = inProgress ? undefined : (event?.durationMs ?? answer?.durationMs);
    printLines(toLines(lines, durationMs));
  }
}

/** Indented as the lines below a request are. */
const INDENT = " ".repeat(9);

function remember<Value>(map: Map<string, Value>, id: string, value: Value): void {
  map.set(id, value);
  const [oldest] = map.keys();
  if (map.size > MAX_REQUESTS && oldest !== undefined) map.delete(oldest);
}

/** The event without its payload, or the refused request. */
function toRecord(event: EventTimeline | undefined, answer: AnswerView | undefined): object {
  if (!event) return { ...answer };
  const { request: _request, entries: _entries, ...record } = event;
  return { ...record, answer: answer && { status: answer.status, durationMs: answer.durationMs } };
}

/** Nothing to say yet: it may end in a moment. A failed attempt is something to say. */
function isInProgress({ status, runs, deliveries }: EventTimeline): boolean {
  return isRequest(status, "unfinished") && [...runs, ...deliveries].every(({ error }) => error === undefined);
}

function describeAnswer(answer: AnswerView | undefined): string[] {
  if (!answer) return [];
  const request = `${answer.method} ${toPrintable(answer.path)}`;
  if (answer.error) return [style("yellow", `${request} → ${answer.status}: ${toPrintable(answer.error.message)}`)];
  return [`${request} → ${answer.status}, the answer to an earlier request with the same idempotency key`];
}

/** The line, then what is printed below it. */
function describeEvent(event: EventTimeline): string[] {
  const { id, hook, mapping, event: named, subject, replayOf, warnings, log, error, runs } = event;
  const title = [replayOf ? `replay of ${hook}` : hook, ...(mapping === undefined ? [] : [mapping])].join(" → ");
  const about = [named, subject].filter((text) => text !== undefined).map((text) => ` ${toExcerpt(text, MAX_ABOUT)}`);
  const isFailure = ["refused", "failed"].includes(event.status);
  const [run] = runs;
  const reply = runs.length === 1 && run?.reply ? formatReply(run.reply) : [];
  return [
    `${toPrintable(title)}${style("dim", about.join(""))} → ${formatOutcome(event)}`,
    ...reply,
    ...warnings.map((warning) => style("yellow", toPrintable(warning))),
    ...formatLog(log),
    ...(error?.detail === undefined ? [] : toPrintable(error.detail).split("\n")),
    ...(isFailure ? [style("dim", toCommand("events show", id))] : []),
  ];
}

function formatReply(reply: string): string[] {
  const lines = toPrintable(reply.trim()).split(/\n+/);
  const shown = lines.slice(0, MAX_REPLY_LINES).map((line) => toExcerpt(line, MAX_REPLY_LINE));
  return lines.length > MAX_REPLY_LINES ? [...shown, style("dim", "…")] : shown;
}

function describeReload({
  changed = "the configuration",
  ms,
  modules,
  problems,
}: ReloadCause & { modules: ModuleCost[]; problems: ConfigProblem[] }): string[] {
  if (problems.length === 0) {
    const costs = modules.map((cost) => style("dim", toPrintable(formatModule(cost))));
    return toLines([`${style("green", "reloaded")} ${toPrintable(changed)}`, ...costs], ms);
  }
  const details = problems.flatMap((problem) => [toSentence(problem), ...(problem.excerpt?.split("\n") ?? [])]);
  const title = `${style("red", "not reloaded")} ${toPrintable(changed)}: what was served before stays in use`;
  return toLines([title, ...details.map(toPrintable)], ms);
}

function toLines([line, ...details]: string[], durationMs: number | undefined): string[] {
  const clock = style("dim", new Date().toTimeString().slice(0, 8));
  const time = durationMs === undefined ? "" : style("dim", `  ${formatDuration(durationMs)}`);
  return [`${clock} ${line}${time}`, ...details.map((detail) => `${INDENT}${detail}`.trimEnd())];
}

/** A message of the live stream. `data` is JSON. */
export interface LiveMessage {
  id: string | undefined;
  name: string;
  data: string;
}

/** Server-sent events: fields a line, and an empty line after each message. */
export async function* readMessages(stream: Readable): AsyncGenerator<LiveMessage> {
  let message: LiveMessage = { id: undefined, name: "message", data: "" };
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === "id") message.id = value;
    else if (field === "event") message.name = value;
    else if (field === "data") message.data += value;
    else if (line === "") {
      if (message.data !== "") yield message;
      message = { id: undefined, name: "message", data: "" };
    }
  }
}
