import type { AlertRule } from "../config/resolved-config.ts";
import type { ConfigProblem } from "../errors.ts";
import type { Approval, EventSummary, Run } from "../journal/journal.ts";
import type { MailStatus } from "../ports/mail-status.ts";
import { toCommand } from "../shared/text/command.ts";
import { toOneLine } from "../shared/text/text.ts";

/* The line of each kind of alert. It holds nothing of a payload. */

/** `event`: of the run or delivery with this id, if it is known. */
export function describeDeadLetter(id: string, event: Pick<EventSummary, "id" | "hook"> | undefined): string {
  const about = event ? `of the hook ${toOneLine(event.hook)} (event ${event.id})` : `(${id})`;
  return `A run or delivery ${about} failed permanently. See: npx hookline dead-letters list`;
}

export function describeHeld({ hook = "", eventId, holdReason }: Run): string {
  const about = `of the hook ${toOneLine(hook)} (event ${eventId})`;
  return `A run ${about} is held: ${holdReason}. See: npx hookline runs list --state held`;
}

export function describeQuestion({ kind, code, hook = "", mapping }: Approval): string {
  const about = `of ${toOneLine(mapping || hook)}`;
  const show = toCommand("approvals show", code);
  if (kind === "outcome") return `Nobody knows whether a call ${about} was executed. See: ${show}`;
  return `A ${kind} ${about} waits for a person. See: ${show}`;
}

export function describeUnasked({ hook = "", mapping }: Approval): string {
  const about = `of ${toOneLine(mapping || hook)}`;
  return `A question ${about} was denied, because too many are open. See: npx hookline approvals list`;
}

export function describeOutage(provider: string, since: number): string {
  const time = new Date(since).toISOString();
  return `Runs are waiting for ${toOneLine(provider)} since ${time}: it is overloaded or cannot be reached. See: npx hookline runs list --state waiting`;
}

export function describeSilence({ hook }: AlertRule, last: number | undefined): string {
  const about = hook === undefined ? "No event" : `No event of the hook ${toOneLine(hook)}`;
  const since = last === undefined ? "has come yet" : `since ${new Date(last).toISOString()}`;
  return `${about} ${since}. See: npx hookline rejections`;
}

export function describeRefusal(problems: ConfigProblem[]): string {
  const { file, line, key } = problems[0] ?? {};
  const place = [file?.split(/[\\/]/).at(-1), line, key].filter((part) => part !== undefined).join(":");
  const more = problems.length > 1 ? ` and ${problems.length - 1} more` : "";
  const about = place ? `: a problem at ${toOneLine(place)}${more}` : "";
  return `The changed configuration was refused${about}. The earlier one stays in use. See: npx hookline status`;
}

export function describeRestarts(times: number): string {
  return `The service has ended ${times} times within an hour without being stopped, and no single run or delivery is the cause. See: npx hookline status`;
}

export function describeDown({ name, state }: MailStatus): string {
  return `The mailbox ${toOneLine(name)} is down (${state}): no mail arrives. See: npx hookline status`;
}
