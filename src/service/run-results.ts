import { TurnTimeout } from "../core/actions/loop.ts";
import { HookError } from "../core/errors.ts";
import type { Journal, Run, Answer, EventRecord } from "../core/journal/journal.ts";
import { renderAnswer } from "../core/mapping/answer.ts";
import type { Accepted } from "../core/receive.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { readOwn } from "../core/shared/json.ts";
import { createWakeUp } from "../core/shared/time.ts";
import type { Log } from "../core/telemetry/log.ts";
import {
  type DeliveryState,
  type HookRequest,
  type HttpResponse,
  QUESTION_HOLDS,
  type Receipt,
} from "../core/types.ts";

/** Requests that wait at once. Any further one gets its usual answer without waiting. */
const MAX_WAITING = 1000;
const MAX_WAIT_SECONDS = 60;
const FIRST_POLL_MS = 20;
const MAX_POLL_MS = 500;

export interface RunResults {
  /**
   * If the request prefers to wait and led to a single run: the run's result, or the usual answer when the time is up.
   * Never later than `close`.
   */
  waitFor(request: HookRequest, accepted: HttpResponse): Promise<HttpResponse>;
  /**
   * The reply of the run of an event, if there is one by then, in milliseconds since the epoch. undefined: it will not be
   * there in time, because the run has failed or is held, or the event led to no run or to several.
   */
  waitForReply(receipt: Receipt, until: number): Promise<string | undefined>;
  /** Waits for OpenClaw's `waitForCompletion`: until the reply is delivered. Answers with facts about both. */
  waitForCompletion(accepted: HttpResponse, seconds: number): Promise<HttpResponse>;
  /** Answers `GET {hooks.path}/runs/<id>`. Throws a 404 unless the credential is the one that created the run. */
  read(runId: string, credential: string): Promise<HttpResponse>;
  /** Ends all waits: the run of a service that stops may take longer than the shutdown. */
  close(): void;
}

/** The result of a run, for the sender of its event. */
export function createRunResults(
  journal: Pick<Journal, "getRun" | "getEvent">,
  isAck: (reply: string) => boolean = () => false,
): RunResults {
  const closing = createWakeUp();
  let waiting = 0;

  return { waitFor, waitForReply, waitForCompletion, read, close: closing.wake };

  async function waitFor({ headers }: HookRequest, accepted: HttpResponse): Promise<HttpResponse> {
    const seconds = parseWait(headers["prefer"]);
    const answer = seconds === undefined ? undefined : await untilAnswered(accepted, seconds, readEnded);
    if (!answer) return accepted;
    return { ...answer, headers: { ...answer.headers, "Preference-Applied": `wait=${seconds}` } };
  }

  async function waitForReply({ actions }: Receipt, until: number): Promise<string | undefined> {
    const [runId, ...others] = actions.map((action) => action.runId);
    if (runId === undefined || others.length > 0) return undefined;
    const ended = await untilThere(async () => {
      const run = await journal.getRun(runId);
      return !run || hasEnded(run) || run.state === "held" ? { run } : undefined;
    }, until);
    return ended?.run?.state === "done" ? (ended.run.reply ?? "") : undefined;
  }

  async function waitForCompletion(accepted: HttpResponse, seconds: number): Promise<HttpResponse> {
    return (await untilAnswered(accepted, seconds, readCompleted)) ?? accepted;
  }

  async function untilAnswered(
    { body: receipt, headers }: HttpResponse,
    seconds: number,
    readResult: (receipt: SingleRun) => Promise<object | undefined>,
  ): Promise<HttpResponse | undefined> {
    if (!hasSingleRun(receipt)) return undefined;
    const result = await untilThere(() => readResult(receipt), Date.now() + seconds * 1000);
    const { eventId, sessionKey, warnings } = receipt;
    return result && { status: 200, headers, body: { ...result, sessionKey, eventId, ...(warnings && { warnings }) } };
  }

  async function readEnded({ runId }: SingleRun): Promise<object | undefined> {
    const run = await journal.getRun(runId);
    return run && hasEnded(run) ? toResult(run) : undefined;
  }

  async function readCompleted({ runId, eventId }: SingleRun): Promise<object | undefined> {
    const run = await journal.getRun(runId);
    if (!run || !hasEnded(run)) return undefined;
    const { deliveries = [] } = (await journal.getEvent(eventId)) ?? {};
    const own = deliveries.filter((delivery) => delivery.runId === runId);
    if (own.some(({ state }) => !SETTLED.has(state))) return undefined;
    return { ...toResult(run), completion: toCompletion(run, own, isAck) };
  }

  async function untilThere<Result>(
    ask: () => Promise<Result | undefined>,
    deadline: number,
  ): Promise<Result | undefined> {
    if (waiting >= MAX_WAITING) return undefined;
    waiting++;
    try {
      for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS)) {
        const result = await ask();
        if (result !== undefined) return result;
        const left = deadline - Date.now();
        if (left <= 0 || (await closing.wait(Math.min(pollMs, left)))) return undefined;
      }
    } finally {
      waiting--;
    }
  }

  async function read(runId: string, credential: string): Promise<HttpResponse> {
    const run = await journal.getRun(runId);
    const event = run?.eventId === undefined ? undefined : await journal.getEvent(run.eventId);
    if (!run || event?.credential !== credential) {
      throw new HookError("not_found", { message: "There is no such run, or another credential created it." });
    }
    return { status: 200, headers: { "Cache-Control": "no-store" }, body: toResult(run) };
  }
}

interface SingleRun {
  runId: string;
  sessionKey: string;
  eventId: string;
  warnings?: string[];
}

function hasSingleRun(receipt: unknown): receipt is SingleRun {
  return typeof readOwn(receipt, "runId") === "string";
}

/** Seconds from `Prefer: wait=10` (RFC 7240, 4.3). */
function parseWait(prefer: string | undefined): number | undefined {
  const wait = prefer && /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(prefer)?.[1];
  return wait && Number(wait) > 0 ? Math.min(Number(wait), MAX_WAIT_SECONDS) : undefined;
}

const SETTLED: ReadonlySet<DeliveryState> = new Set(["sent", "skipped", "failed", "canceled"]);

/** OpenClaw's answer about a run that its sender has waited for: facts, and no texts. */
interface Completion {
  status: "ok" | "error";
  replyDisposition: "visible" | "silent" | "empty";
  delivered: boolean;
  deliveryAttempted: boolean;
  deliverySuppressionReason?: "silent" | "empty" | "disabled";
  deliveryError?: "delivery-failed";
}

function toCompletion(
  { state, reply = "", action }: Run,
  deliveries: { state: DeliveryState }[],
  isAck: (reply: string) => boolean,
): Completion {
  const replyDisposition = reply.trim() === "" ? "empty" : isAck(reply) ? "silent" : "visible";
  const states = deliveries.map((delivery) => delivery.state);
  const isAttempted = states.some((one) => one === "sent" || one === "failed" || one === "canceled");
  const hasFailed = states.some((one) => one === "failed" || one === "canceled");
  const suppressed = replyDisposition !== "visible" ? replyDisposition : action?.deliver ? undefined : "disabled";
  return {
    status: state === "done" ? "ok" : "error",
    replyDisposition,
    delivered: states.length > 0 && states.every((one) => one === "sent"),
    deliveryAttempted: isAttempted,
    ...(state === "done" && suppressed !== undefined && { deliverySuppressionReason: suppressed }),
    ...(hasFailed && { deliveryError: "delivery-failed" }),
  };
}

function hasEnded({ state }: Run): boolean {
  return state === "done" || state === "dead" || state === "canceled";
}

/** A person who is asked is none of its sender's business. */
function isInProgress({ state, holdReason }: Run): boolean {
  return state === "running" || (state === "held" && Object.values<unknown>(QUESTION_HOLDS).includes(holdReason));
}

/** Its error is for the operator: it may quote the prompt, a file or an answer of the provider. */
const RUN_FAILURES = {
  turn_failed: "The agent's turn failed.",
  turn_timed_out: "The agent's turn took too long.",
  canceled: "The turn was canceled.",
};

function toFailureCode({ state, error, action }: Run): keyof typeof RUN_FAILURES {
  if (state === "canceled") return "canceled";
  return action && error === TurnTimeout.messageAfter(action.timeoutSeconds) ? "turn_timed_out" : "turn_failed";
}

function toResult(run: Run): object {
  const { id: runId, reply } = run;
  const ended = hasEnded(run);
  if (!ended) return { ok: true, runId, status: isInProgress(run) ? "running" : "waiting" };
  if (run.state === "done") return { ok: true, runId, status: "done", reply };
  const code = toFailureCode(run);
  return { ok: false, runId, status: "failed", code, error: RUN_FAILURES[code] };
}

export interface AnswersParts {
  journal: Pick<Journal, "getEvent" | "findAnswer" | "recordAnswer">;
  results: Pick<RunResults, "waitForReply">;
  /** A stored event as templates see it. */
  readEvent(event: EventRecord): Promise<object>;
  log: Log;
}

/** The answer that the mapping of an accepted request gives its sender; undefined if the mapping has no `answer`. */
export type FindAnswer = (
  accepted: Accepted,
  request: HookRequest,
  runtime: Runtime,
) => Promise<HttpResponse | undefined>;

/**
 * Answers with the reply of a run. The answer is recorded before it is sent, so that a repeat of the request gets the same
 * bytes: also if the run ends later, the mapping changes, or another node gets the repeat.
 */
export function createFindAnswer({ journal, results, readEvent, log }: AnswersParts): FindAnswer {
  return async function findAnswer({ response, receipt, mapping: id }, request, { mappings }) {
    const { eventId, replayed, actions } = receipt;
    if (!replayed && !mappings.answers.has(id ?? "")) return undefined;
    const known = replayed ? await journal.findAnswer(eventId) : undefined;
    if (known !== undefined) return toResponse(known, response);

    // The repeat of a request whose service was stopped before the answer knows neither its mapping nor its payload.
    const event = await journal.getEvent(eventId);
    const answer = mappings.answers.get(event?.mapping ?? "");
    if (!event || !answer) return undefined;
    const reply = await results.waitForReply(receipt, request.receivedAt + answer.waitMs);
    const given = renderAnswer(answer, await readEvent(event), reply, (reason) =>
      log.warn("an answer was not used", { eventId, mapping: event.mapping, reason }),
    );
    // No repeat can ask for that of a skipped event.
    return toResponse(actions.length === 0 ? given : await journal.recordAnswer(eventId, given), response);
  };
}

/** Null: the usual answer. */
function toResponse(answer: Answer | null, usual: HttpResponse): HttpResponse {
  if (!answer) return usual;
  const body = Buffer.from(answer.body);
  const type = { "Content-Type": `${answer.contentType}; charset=utf-8`, "Content-Length": String(body.length) };
  return { status: answer.status, headers: { ...usual.headers, ...type }, body };
}
