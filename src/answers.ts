import type { Answer, EventRecord, Journal } from "./journal/journal.ts";
import { renderAnswer } from "./mapping/answer.ts";
import type { Accepted } from "./receive.ts";
import type { RunResults } from "./run-results.ts";
import type { Runtime } from "./runtime/build.ts";
import type { Log } from "./telemetry/log.ts";
import type { HookRequest, HttpResponse } from "./types.ts";

export interface AnswersParts {
  journal: Pick<Journal, "getEvent" | "findAnswer" | "recordAnswer">;
  results: Pick<RunResults, "waitForReply">;
  /** What templates see of a stored event. */
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
    if (mappings.answers.size === 0 || (!replayed && !mappings.answers.has(id ?? ""))) return undefined;
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
