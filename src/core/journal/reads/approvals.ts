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
  const row = await reader.get(`${ASKED} WHERE approvals.id = $1 AND deliveries.state = 'sent'`, [id]);
  return row && toAsked(reader, row);
}

export async function findPressed(reader: Reader, hash: string): Promise<PressedButton | undefined> {
  const button = await reader.get("SELECT approval_id, decision FROM hookline.buttons WHERE hash = $1", [hash]);
  const found = button && `${ASKED} WHERE approvals.id = $1 AND deliveries.state = 'sent'`;
  const row = found && (await reader.get(found, [text(button.approval_id)]));
  if (!row) return undefined;
  const decision = oneOf(DECISIONS, button.decision);
  return { asked: toAsked(reader, row), decision, channel: text(row.channel), to: text(row.recipient) };
}

function toAsked({ clockOffsetMs }: Reader, row: Row): AskedApproval {
  const messageIds = row.message_id === null ? [] : text(row.message_id).split("\n");
  return { approval: toApproval(row, clockOffsetMs), sentAt: integer(row.sent_at), messageIds };
}
