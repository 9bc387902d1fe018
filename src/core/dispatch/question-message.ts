import { randomBytes } from "node:crypto";
import { toButtonHash } from "../approvals/press.ts";
import { describeEnd } from "../approvals/question/card.ts";
import { toChatText } from "../approvals/question/chat-text.ts";
import { readQuestion } from "../approvals/question/read-question.ts";
import type { Approval, Delivery, Journal } from "../journal/journal.ts";
import type { Button, ChannelDriver, OutgoingMessage } from "../ports/channel.ts";
import type { Decision } from "../types.ts";
import type { DispatchContext } from "./dispatch-context.ts";
import { answeringOf } from "./run-steps.ts";

/** The question that a delivery asks; undefined: it has ended. */
export async function findOpenQuestion(
  { id, runId }: Pick<Delivery, "id" | "runId">,
  journal: Pick<Journal, "listApprovals">,
): Promise<Approval | undefined> {
  const open = await journal.listApprovals({ runId, state: "open", limit: MAX_OPEN_QUESTIONS });
  return open.find(({ questionId }) => questionId === id);
}

/** More than a run can have. */
const MAX_OPEN_QUESTIONS = 1000;

interface Place {
  channel: string;
  driver: ChannelDriver;
}

/** The buttons of a question, each with a value that is drawn for this attempt. None: it cannot be answered by one there. */
export async function drawButtons(
  { id, kind, onlyOnPage }: Approval,
  { channel, driver }: Place,
  { journal, current }: Pick<DispatchContext, "journal" | "current">,
): Promise<Pick<OutgoingMessage, "buttons" | "pressUrl">> {
  const { byButton, pressUrl } = answeringOf(channel, driver, current());
  if (!byButton || onlyOnPage) return {};
  const drawn = BUTTONS[kind === "outcome" ? "outcome" : "call"].map((button) => ({ ...button, value: drawValue() }));
  await journal.drawButtons(
    id,
    drawn.map(({ value, decision }) => ({ hash: toButtonHash(value), decision })),
  );
  return { buttons: drawn.map(({ label, tone, value }) => ({ label, tone, value })), pressUrl };
}

function drawValue(): string {
  return randomBytes(24).toString("base64url");
}

const BUTTONS: Record<"call" | "outcome", (Omit<Button, "value"> & { decision: Decision })[]> = {
  call: [
    { decision: "approve", label: "Approve", tone: "good" },
    { decision: "deny", label: "Deny", tone: "bad" },
  ],
  outcome: [
    { decision: "done", label: "Done", tone: "good" },
    { decision: "again", label: "Again" },
    { decision: "give-up", label: "Give up", tone: "bad" },
  ],
};

/** The message of a question that has ended, as it is from now on; undefined: nobody was asked by a message. */
export async function readEndedQuestion(
  id: string,
  { channel, driver }: Place,
  { journal, current }: Pick<DispatchContext, "journal" | "current">,
): Promise<{ text: string; messageIds: string[] } | undefined> {
  const asked = await journal.getAsked(id);
  if (!asked || asked.messageIds.length === 0) return undefined;
  const { config } = current();
  const { approvals: settings } = config.agents;
  const { publicUrl } = config.gateway;
  const question = await readQuestion(asked.approval, journal, { asked: settings, publicUrl });
  const answering = answeringOf(channel, driver, current());
  const { text } = await toChatText(question, { channel: driver, answering, end: describeEnd(asked.approval) });
  return { text, messageIds: asked.messageIds };
}
