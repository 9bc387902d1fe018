import type { Approval, Journal, NewDecision } from "../journal/journal.ts";
import type { ApprovalKind, Decision } from "../types.ts";

const ANSWERS: Record<ApprovalKind, readonly Decision[]> = {
  call: ["approve", "deny"],
  reply: ["approve", "deny"],
  outcome: ["done", "again", "give-up"],
};

/**
 * `decided`: this was the first decision · `conflict`: it was decided before, or has ended otherwise · `refused`: with a
 * sentence that says why it cannot be decided like this · `unknown`: there is no such question.
 */
export type DecideResult =
  | { kind: "decided" | "conflict"; approval: Approval }
  | { kind: "refused"; message: string }
  | { kind: "unknown" };

/** Decides a question as the operator's API asks. Answers by message are in `chat-answer.ts`. */
export async function decide(
  journal: Pick<Journal, "getApproval" | "decideApproval">,
  id: string,
  decision: NewDecision,
): Promise<DecideResult> {
  const approval = await journal.getApproval(id);
  if (!approval) return { kind: "unknown" };
  if (approval.state !== "open") return { kind: "conflict", approval };
  const message = findProblem(approval, decision);
  if (message !== undefined) return { kind: "refused", message };
  return (await journal.decideApproval(id, decision)) ?? { kind: "unknown" };
}

function findProblem({ kind, againAt = 0 }: Approval, { decision, result, at }: NewDecision): string | undefined {
  const possible = ANSWERS[kind];
  if (!possible.includes(decision)) {
    return `A question about ${NAMES[kind]} is answered with ${possible.slice(0, -1).join(", ")} or ${possible.at(-1)}.`;
  }
  if (result !== undefined && decision !== "done") return "Only done has a result.";
  if (decision === "again" && at < againAt) {
    const seconds = Math.ceil((againAt - at) / 1000);
    return `The call may still be running: it can be repeated in ${seconds} s, when its time limit is over.`;
  }
  return undefined;
}

const NAMES: Record<ApprovalKind, string> = {
  call: "a call",
  reply: "a reply",
  outcome: "the outcome of a call",
};
