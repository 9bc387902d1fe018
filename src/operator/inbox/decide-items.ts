import { toVisible } from "../../core/boundary/visible.ts";
import type { Question } from "../../core/approvals/question/card.ts";
import type { Approval } from "../../core/journal/journal.ts";
import { toText } from "../../core/shared/json.ts";
import { toEndWord } from "../../core/shared/words.ts";
import { toOneLine } from "../../core/shared/text/text.ts";
import { toIso } from "../iso-times.ts";
import type { InboxItem } from "./item.ts";

export interface AskedQuestion {
  approval: Approval;
  question: Question;
  /** The subject of its event. */
  subject?: string;
}

/** A question to a person, with the card that all places draw. */
export function toDecideItem({ approval, question, subject }: AskedQuestion): InboxItem {
  const { id, code, by, decidedAt } = approval;
  return {
    id,
    part: "decide",
    title: toTitle(approval),
    ...(subject && { subject: toVisible(subject) }),
    since: toIso(approval.askedAt),
    ...(question.until !== undefined && question.state === "open" && { until: question.until }),
    ...(question.state !== "open" && {
      ended: { at: toIso(decidedAt ?? approval.askedAt), by, word: toEndWord(approval) },
    }),
    blocks: question.blocks,
    actions: question.answers.map(({ decision: answer, label }) => ({
      id: answer,
      label: `${label}: ${toVisible(approval.call ?? "the reply")}, code ${code}`,
      method: "POST",
      path: `/api/approvals/${id}`,
      body: { decision: answer },
    })),
  };
}

/** The call with its first argument: `refunds.create 69`. */
function toTitle({ kind, call = "", arguments: args = {}, deliveries = [] }: Approval): string {
  if (kind === "outcome") return `Was ${toVisible(call)} executed?`;
  if (kind === "reply")
    return `Reply to ${toVisible(toOneLine(`${deliveries[0]?.channel ?? ""} ${deliveries[0]?.to ?? ""}`))}`;
  const [first] = Object.values(args);
  return toVisible(toOneLine(`${call} ${toText(first)}`));
}
