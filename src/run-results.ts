import { HookError } from "./errors.ts";
import type { Journal, Run } from "./journal/journal.ts";
import { createWakeUp } from "./shared/time.ts";
import { readOwn } from "./shared/json.ts";
import type { HookRequest, HttpResponse } from "./types.ts";

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
  /** Answers `GET {hooks.path}/runs/<id>`. Throws a 404 unless the credential is the one that created the run. */
  read(runId: string, credential: string): Promise<HttpResponse>;
  /** Ends all waits: the run of a service that stops may take longer than the shutdown. */
  close(): void;
}

/** The result of a run, for the sender of its event. */
export function createRunResults(journal: Pick<Journal, "getRun" | "getEvent">): RunResults {
  const closing = createWakeUp();
  let waiting = 0;

  return { waitFor, read, close: closing.wake };

  async function waitFor({ headers }: HookRequest, accepted: HttpResponse): Promise<HttpResponse> {
    const seconds = parseWait(headers["prefer"]);
    const receipt = accepted.body;
    if (seconds === undefined || !hasSingleRun(receipt) || waiting >= MAX_WAITING) return accepted;
    waiting++;
    try {
      const run = await untilEnded(receipt.runId, Date.now() + seconds * 1000);
      if (!run) return accepted;
      const { eventId, sessionKey, warnings } = receipt;
      const body = { ...toResult(run), sessionKey, eventId, ...(warnings && { warnings }) };
      return { status: 200, headers: { ...accepted.headers, "Preference-Applied": `wait=${seconds}` }, body };
    } finally {
      waiting--;
    }
  }

  async function untilEnded(runId: string, deadline: number): Promise<Run | undefined> {
    for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS)) {
      const run = await journal.getRun(runId);
      if (run && hasEnded(run)) return run;
      const left = deadline - Date.now();
      if (left <= 0 || (await closing.wait(Math.min(pollMs, left)))) return undefined;
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

function hasEnded({ state }: Run): boolean {
  return state === "done" || state === "dead" || state === "dropped";
}

function toResult(run: Run): object {
  const { id: runId, reply, error } = run;
  const ended = hasEnded(run);
  if (!ended) return { ok: true, runId, status: run.state === "running" ? "running" : "waiting" };
  if (run.state === "done") return { ok: true, runId, status: "done", reply };
  return { ok: false, runId, status: "failed", error };
}
