import { HOUR_MS } from "../shared/time.ts";
import type { ChannelDriver } from "../ports/channel.ts";
import type { ApprovalSettings } from "../config/resolved-config.ts";
import type { Journal, NewApproval, NewDelivery } from "../journal/journal.ts";
import { createId } from "../shared/id.ts";
import type { Answering } from "./answering.ts";
import { toChatText } from "./question/chat-text.ts";
import { type QuestionJournal, readQuestion } from "./question/read-question.ts";

/** A question to a person, before it has a name, a time and a message. */
export type ApprovalDraft = Omit<
  NewApproval,
  "id" | "code" | "mapping" | "startedBy" | "askedAt" | "expiresAt" | "question" | "onlyOnPage" | "editable"
>;

export interface AskOptions {
  journal: Pick<Journal, "reserveCodes"> & QuestionJournal;
  /** Where and how long people are asked. undefined: on the page only, and for `DEFAULT_EXPIRY_MS`. */
  settings: ApprovalSettings | undefined;
  channels: ReadonlyMap<string, ChannelDriver>;
  /** The mapping of the run that asks; empty for the built-in hooks. */
  mapping: string;
  /** How people can answer the questions of a channel. */
  findAnswering(channel: string, driver: ChannelDriver): Answering;
  /** The author of the event, if there is one. */
  startedBy: string | undefined;
  /** The address of the operator's page, without a slash at its end. */
  publicUrl: string | undefined;
}

const DEFAULT_EXPIRY_MS = 4 * HOUR_MS;

/** Names the questions, and writes the messages that ask them. They are asked once they are committed. */
export async function toApprovals(drafts: readonly ApprovalDraft[], options: AskOptions): Promise<NewApproval[]> {
  if (drafts.length === 0) return [];
  const codes = await options.journal.reserveCodes(drafts.length);
  return Promise.all(drafts.map((draft, index) => toApproval(draft, codes[index] ?? "", options)));
}

async function toApproval(draft: ApprovalDraft, code: string, options: AskOptions): Promise<NewApproval> {
  const { journal, settings, channels, mapping, startedBy, publicUrl, findAnswering } = options;
  const askedAt = Date.now();
  const id = createId();
  const approval: NewApproval = { ...draft, id, code, mapping, startedBy, askedAt };
  const { channel: name = "", to } = settings ?? {};
  const channel = channels.get(name);
  // Time does not tell what became of a call.
  if (draft.kind !== "outcome") approval.expiresAt = askedAt + (settings?.expiresMs ?? DEFAULT_EXPIRY_MS);
  if (!settings || !channel || to === undefined) return approval;
  const question = await readQuestion(approval, journal, { asked: settings, publicUrl });
  const { text, isWhole } = await toChatText(question, { channel, answering: findAnswering(name, channel) });
  const { runId, eventId } = draft;
  const message: NewDelivery = { id: createId(), runId, eventId, channel: name, to, text, isQuestion: true };
  const shown: Pick<NewApproval, "onlyOnPage" | "editable"> = {
    ...(!isWhole && { onlyOnPage: true }),
    ...(channel.canUpdate && { editable: { channel: name, to } }),
  };
  return { ...approval, ...shown, question: message };
}
