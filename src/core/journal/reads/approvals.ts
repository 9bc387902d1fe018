import { isId } from "../../shared/id.ts";
import { type ApprovalState, type ChannelName, DECISIONS } from "../../types.ts";
import type { Page } from "../journal.ts";
import type { Approval, AskedApproval, PressedButton } from "../records/approval.ts";
import { listPage, ofStates, type Reader } from "./reader.ts";
import { integer, oneOf, type Row, text } from "../columns.ts";
import { toApproval } from "../rows.ts";

const APPROVALS = "hookline.approvals";

export async function listApprovals(
  reader: Reader,
  {
    state,
    runId,
    eventId,
    ...page
  }: Page & { state?: ApprovalState | ApprovalState[]; runId?: string; eventId?: string },
): Promise<Approval[]> {
  if ([runId, eventId].some((id) => id !== undefined && !isId(id))) return [];
  const found = await listPage(reader, APPROVALS, page, [
    ofStates(state),
    ["run_id =", runId],
    ["event_id =", eventId],
  ]);
  return found.map((row) => toApproval(row, reader.clockOffsetMs));
}

export async function getApproval({ get, clockOffsetMs }: Reader, id: string): Promise<Approval | undefined> {
  const row = isId(id) ? await get(`SELECT * FROM ${APPROVALS} WHERE id = $1`, [id]) : undefined;
  return row && toApproval(row, clockOffsetMs);
}

export async function hasExpired({ get, clockOffsetMs }: Reader, now: number): Promise<boolean> {
  const find = `SELECT 1 AS found FROM ${APPROVALS} WHERE state = 'open' AND expires_at <= $1 LIMIT 1`;
  return (await get(find, [now + clockOffsetMs])) !== undefined;
}

const ASKED = `
  SELECT approvals.*, deliveries.finished_at AS sent_at, deliveries.message_id, deliveries.channel, deliveries.recipient
  FROM hookline.approvals JOIN hookline.deliveries ON deliveries.id = approvals.question_id`;

export async function findAsked(
  reader: Reader,
  code: string,
  channel: ChannelName,
  to: string,
): Promise<AskedApproval | undefined> {
  const row = await reader.get(
    `${ASKED} WHERE approvals.code = $1 AND deliveries.state = 'sent' AND deliveries.channel = $2 AND deliveries.recipient = $3
     ORDER BY approvals.id DESC LIMIT 1`,
    [code, channel, to],
  );
  return row && toAsked(reader, row);
}

export async function getAsked(reader: Reader, id: string): Promise<AskedApproval | undefined> {
  const row = await reader.get(`${ASKED} WHERE approvals.id = $1`, [id]);
  return row && toAsked(reader, row);
}

export async function findPressed(reader: Reader, hash: string): Promise<PressedButton | undefined> {
  const button = await reader.get(BUTTON, [hash]);
  const row = button && (await reader.get(`${ASKED} WHERE approvals.id = $1`, [text(button.approval_id)]));
  if (!row) return undefined;
  const decision = oneOf(DECISIONS, button.decision);
  const asked = toAsked(reader, row);
  const isRecorded = asked.messageIds.length > 0 && integer(button.draws) === 1;
  return { asked, decision, isRecorded, channel: text(row.channel), to: text(row.recipient) };
}

const BUTTON = `
  SELECT approval_id, decision, (SELECT count(*) FROM hookline.buttons AS drawn
    WHERE drawn.approval_id = buttons.approval_id AND drawn.decision = buttons.decision) AS draws
  FROM hookline.buttons WHERE hash = $1`;

function toAsked({ clockOffsetMs }: Reader, row: Row): AskedApproval {
  const messageIds = row.message_id === null ? [] : [...new Set(text(row.message_id).split("\n"))];
  const sentAt = row.sent_at === null ? 0 : integer(row.sent_at);
  return { approval: toApproval(row, clockOffsetMs), sentAt, messageIds };
}
