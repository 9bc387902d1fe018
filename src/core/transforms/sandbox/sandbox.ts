import { SourceMap } from "node:module";
import path from "node:path";
import { type ConfigProblem, TransformError } from "../../errors.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { showLine } from "../esbuild.ts";
import type { TransformBundle, TransformCall, TransformOutcome, TransformRunner } from "../runner.ts";
import { type Answer, type FailedAnswer, withoutSecrets } from "./child-answer.ts";
import type { JobRequest } from "./job.ts";
import { createPool, type Pool } from "./pool.ts";
import { BUNDLE_FILE, NO_BODY } from "./protocol.ts";
import type { FindTempDir } from "./spawn.ts";

/** One is enough for most loads; the other is its spare and the quarantine. A third would cost 50 MB for little gain. */
const DEFAULT_CHILDREN = 2;
/** Evaluating a module for the first time may take longer than a call. */
const CHECK_TIMEOUT_MS = 5000;

export interface SandboxOptions {
  telemetry: Telemetry;
  /** How many child processes. Default: 2. A command of the terminal needs no spare. */
  children?: number;
  /** Where its folder is if the system has no place for temporary files. */
  findTempDir?: FindTempDir;
  /** Processes that several sandboxes of this process share. `close` leaves them running. */
  pool?: Pool;
}

/** More versions than a service has modules, in many reloads. */
const MAX_PASSED = 1000;

interface State {
  telemetry: Telemetry;
  pool: Pool;
  /** The versions of modules that passed their check: at a reload, most modules are as they were. */
  passed: Set<string>;
  calls: number;
  failures: number;
}

/** Runs transforms in supervised child processes, which the first check or call starts. */
export function createSandbox({
  telemetry,
  children = DEFAULT_CHILDREN,
  pool,
  findTempDir,
}: SandboxOptions): TransformRunner {
  const state: State = {
    telemetry,
    pool: pool ?? createPool({ log: telemetry.log, children, findTempDir }),
    passed: new Set(),
    calls: 0,
    failures: 0,
  };
  return {
    prepare: () => state.pool.start(),
    check: (bundle) => check(state, bundle),
    run: (bundle, call) => run(state, bundle, call),
    status: (used = []) => ({
      ...state.pool.status(new Set(used.map(nameModule))),
      calls: state.calls,
      failures: state.failures,
    }),
    close: async () => (pool ? undefined : state.pool.close()),
  };
}

async function check({ pool, passed }: State, bundle: TransformBundle): Promise<ConfigProblem[]> {
  const module = nameModule(bundle);
  if (passed.has(module)) return [];
  const answer = await runJob(pool, {
    operation: "check",
    bundle,
    module,
    text: "",
    body: NO_BODY,
    timeoutMs: CHECK_TIMEOUT_MS,
  });
  if (answer.kind === "value") {
    if (passed.size >= MAX_PASSED) passed.clear();
    passed.add(module);
    return [];
  }
  const { place } = traceStack(bundle, answer.message, answer.stack ?? "");
  const logged = answer.log.map(({ level, text }) => `${level}: ${text}`);
  const excerpt = [place.excerpt, ...logged].filter(Boolean).join("\n") || undefined;
  return [{ message: answer.message, file: bundle.spec.file, ...place, excerpt }];
}

async function run(state: State, bundle: TransformBundle, call: TransformCall): Promise<TransformOutcome> {
  const answer = await runJob(state.pool, {
    operation: "call",
    bundle,
    module: nameModule(bundle),
    text: toText(bundle, call),
    body: call.rawBody,
    timeoutMs: call.timeoutMs ?? bundle.spec.timeoutMs,
  });
  state.calls++;
  if (answer.kind === "value") {
    const { value, unread, sets, log: lines, runMs = 0 } = answer;
    return { value, unread, sets, log: lines, runMs };
  }
  const { kind, message, log, stack = "", retryAfterMs } = answer;
  // The transform was not called.
  if (kind === "bad_payload") throw new TransformError(kind, message);
  state.failures++;
  const { text: trace, place } = traceStack(bundle, message, stack);
  const { file = bundle.spec.file, line, column } = place;
  // The message may contain a piece of the payload, so the log gets only the place; the event keeps the rest.
  state.telemetry.log.warn("transform failed", { step: "mapping", reason: kind, file, line, column });
  throw new TransformError(kind, message, { log, trace, retryAfterMs });
}

/** Advice for globals of Node that authors try and that are missing. */
const HINTS: Record<string, string> = {
  fetch: "a transform has no network; send what it needs with the request, or let the agent fetch it",
  process: "a transform has no process and no environment; pass values in transform.secrets",
  Buffer: "use TextEncoder, TextDecoder, atob and btoa",
  require: "use import",
  setTimeout: "a transform has no timers; return the result at once",
  setInterval: "a transform has no timers; return the result at once",
};

/** The answer as it can be shown. */
async function runJob(pool: Pool, request: JobRequest): Promise<Answer> {
  const answer = withoutSecrets(await pool.run(request), request.bundle.spec.secrets);
  if (answer.kind === "memory" || answer.kind === "timeout")
    return { ...answer, message: explainLimit(answer, request) };
  if (answer.kind !== "threw") return answer;
  const [message, name = ""] = /^ReferenceError: (\w+) is not defined$/.exec(answer.message) ?? [];
  const hint = Object.hasOwn(HINTS, name) ? HINTS[name] : undefined;
  return hint === undefined ? answer : { ...answer, message: `${message}: ${hint}.` };
}

/** With what the author can do. */
function explainLimit({ kind, message }: FailedAnswer, { operation, bundle }: JobRequest): string {
  if (kind === "memory") return `${message} It has transform.memoryMb: ${bundle.spec.memoryMb}.`;
  if (operation === "call") return `${message} Its limit is transform.timeoutMs.`;
  return `${message} It was only loaded, not called: move what takes long into its function.`;
}

/** The input as JSON, without the body and without a payload that is just the parsed body. */
function toText({ spec }: TransformBundle, call: TransformCall): string {
  const { rawBody: _, timeoutMs: __, payload, payloadIsBody, state, ...rest } = call;
  const input = { ...rest, secrets: spec.secrets };
  return JSON.stringify({ payloadIsBody, input: payloadIsBody ? input : { ...input, payload }, state });
}

/** The version of the code and everything else that its isolate depends on. */
function nameModule({ id, spec }: TransformBundle): string {
  return `${id}:${spec.memoryMb}:${spec.isolation}`;
}

const FRAME = new RegExp(`^\\s*at (?:(.*?) \\()?.*?${BUNDLE_FILE}:(\\d+):(\\d+)`);
const MAX_FRAMES = 10;
/** A transform can write the stack itself, and the pattern must not become slow on a long line. */
const MAX_LINE_LENGTH = 500;

/** A position in one of the author's files. */
interface Frame {
  name: string;
  file: string;
  line: number;
  column: number;
}

export interface Trace {
  /** Message, stack and the source line with a caret, for a terminal. */
  text: string;
  /** Where it happened, if that is known; `file` is absolute. */
  place: Pick<ConfigProblem, "file" | "line" | "column" | "excerpt">;
}

/** Maps a stack of the bundle back to the author's files. Frames of packages and of the sandbox are left out. */
export function traceStack(bundle: TransformBundle, message: string, stack: string): Trace {
  const map = loadSourceMap(bundle);
  const frames = toFrames(map, stack);
  const top = frames[0];
  if (!top) return { text: message, place: {} };
  const { file, line, column } = top;
  const { sources, sourcesContent } = map.payload;
  const source = sourcesContent?.[sources.indexOf(file)]?.split("\n")[line - 1];
  const excerpt = source === undefined ? undefined : showLine(source, line, column);
  return {
    text: [message, ...frames.map(toLine), ...(excerpt ? ["", excerpt] : [])].join("\n"),
    place: { file: path.resolve(bundle.spec.root, file), line, column, ...(excerpt ? { excerpt } : {}) },
  };
}

/** Maps of bundles that have failed before: parsing a big one takes milliseconds. */
const loaded = new WeakMap<TransformBundle, SourceMap>();

function loadSourceMap(bundle: TransformBundle): SourceMap {
  const map = loaded.get(bundle) ?? new SourceMap(JSON.parse(bundle.sourceMap));
  loaded.set(bundle, map);
  return map;
}

function toFrames(map: SourceMap, stack: string): Frame[] {
  return stack
    .split("\n")
    .filter((line) => line.length <= MAX_LINE_LENGTH)
    .map((line) => toFrame(map, line))
    .filter((frame) => frame !== undefined)
    .slice(0, MAX_FRAMES);
}

function toFrame(map: SourceMap, text: string): Frame | undefined {
  const [, called = "", line, column] = FRAME.exec(text) ?? [];
  if (line === undefined) return undefined;
  const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
  if (!("originalSource" in entry) || entry.originalSource.includes("node_modules/")) return undefined;
  // esbuild names an anonymous default export after its file.
  const name = called.endsWith("_default") ? "" : called;
  return { name, file: entry.originalSource, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

function toLine({ name, file, line, column }: Frame): string {
  const place = `${file}:${line}:${column}`;
  return `    at ${name ? `${name} (${place})` : place}`;
}
