import type { ResolvedConfig } from "../../config/resolved-config.ts";
import type { Approval, Journal, NewApproval } from "../../journal/journal.ts";
import type { Question } from "./card.ts";
import { type QuestionRows, toQuestion } from "./question.ts";

export type QuestionJournal = Pick<Journal, "getEvent" | "getRun" | "listSteps" | "listRuns">;

/** More are not counted. */
const MAX_BEHIND = 100;

/** Where people are asked, and the address of the operator's page. */
type QuestionPlace = Pick<QuestionRows, "asked"> & { publicUrl?: string };

export function toPlace({ agents, gateway }: Pick<ResolvedConfig, "agents" | "gateway">): QuestionPlace {
  return { asked: agents.approvals, publicUrl: gateway.publicUrl };
}

/** A question with what the journal knows of its run and event. */
export async function readQuestion(
  approval: NewApproval | Approval,
  journal: QuestionJournal,
  place: QuestionPlace,
): Promise<Question> {
  const { runId, eventId, id } = approval;
  const [event, run, steps] = await Promise.all([
    eventId === undefined ? undefined : journal.getEvent(eventId),
    journal.getRun(runId),
    journal.listSteps(runId),
  ]);
  const behind = run && (await journal.listRuns({ sessionKey: run.sessionKey, state: "queued", limit: MAX_BEHIND }));
  return toQuestion({
    approval,
    // Only the event's record has what joined the run.
    run: event?.runs.find((one) => one.id === runId) ?? run,
    steps,
    event,
    behind: behind?.length ?? 0,
    asked: place.asked,
    link: place.publicUrl === undefined ? undefined : `${place.publicUrl}/#/inbox/${id}`,
  });
}
