import { type KeptChange, MAIN_SESSION } from "../../types.ts";
import type { DeliveryProgress, Route, SentMessage } from "../records/delivery.ts";
import type { Claim } from "../records/node.ts";
import { EDITS, toChange } from "../rows.ts";
import { addFailedAttempt } from "./failed-attempts.ts";
import { toSurvived } from "./suspect-states.ts";
import { toDeliveryReport, type Work, type Writer } from "./writer.ts";

export function* progressDelivery(
  writer: Writer,
  { id, token }: Claim,
  { partsSent, route, messageId }: DeliveryProgress,
): Work<boolean> {
  const values = [id, token, partsSent, route && JSON.stringify(route), messageId];
  const isClaimed = (yield* writer.run(PROGRESS, values)) > 0;
  if (isClaimed && route && messageId !== undefined) rememberMessage(writer, { id, route, messageId, at: Date.now() });
  return isClaimed;
}

const PROGRESS = `
  UPDATE hookline.deliveries SET parts_sent = $3, route = coalesce($4, route),
    message_id = CASE WHEN conversation IS NOT NULL OR edits = ${EDITS.isQuestion} THEN
      -- The statement may be executed again after its commit.
      CASE WHEN parts_sent < $3 THEN nullif(concat_ws(chr(10), message_id, $5::text), '') ELSE message_id END END
  WHERE id = $1 AND claims = $2 AND state = 'sending'`;

/** Keeps whose message it is, and in which session, while that is kept: there the agent has spoken. */
export function rememberMessage(
  { withCommit }: Pick<Writer, "withCommit">,
  { id, route, messageId = id, at }: { id: string; route: Route; messageId?: string; at: number },
): void {
  withCommit(REMEMBER, [messageId, route.channel, route.to, id, at, route.thread]);
}

const REMEMBER = `
  INSERT INTO hookline.sent_messages (id, channel, recipient, session_key, sent_at, thread) VALUES ($1, $2, $3,
    (SELECT sessions.key FROM hookline.deliveries JOIN hookline.runs ON runs.id = deliveries.run_id
       JOIN hookline.sessions ON sessions.key = runs.session_key
     WHERE deliveries.id = $4 AND sessions.key <> '${MAIN_SESSION}'), $5, $6)
  ON CONFLICT (id, channel) DO UPDATE SET recipient = excluded.recipient, thread = excluded.thread,
    session_key = excluded.session_key, sent_at = excluded.sent_at`;

/** How many earlier commits of a change are remembered. */
const MAX_EARLIER = 100;

export function* keepChange(writer: Writer, keys: readonly string[], change: Omit<KeptChange, "earlier">): Work<void> {
  const known = yield* writer.all(
    "SELECT change FROM hookline.sent_messages WHERE channel = $1 AND id = ANY($2::text[]) AND change IS NOT NULL",
    [change.account, [...keys]],
  );
  const before = known.map(toChange);
  const earlier = before.flatMap((one) => [...one.earlier, one.commit]);
  const others = [...new Set(earlier)].filter((commit) => commit !== change.commit).slice(-MAX_EARLIER);
  const pull = change.pull ?? before.find((one) => one.pull !== undefined)?.pull;
  const kept: KeptChange = { ...change, ...(pull !== undefined && { pull }), earlier: others };
  const json = JSON.stringify(kept);
  for (const key of keys) yield* writer.run(KEEP_CHANGE, [key, change.account, change.sessionKey, Date.now(), json]);
}

const KEEP_CHANGE = `
  INSERT INTO hookline.sent_messages (id, channel, recipient, session_key, sent_at, change) VALUES ($1, $2, $1, $3, $4, $5)
  ON CONFLICT (id, channel) DO UPDATE
    SET session_key = excluded.session_key, sent_at = excluded.sent_at, change = excluded.change`;

export function* keepMessage(
  writer: Writer,
  { channel, to, messageId, sessionKey }: SentMessage & { channel: string; messageId: string },
): Work<void> {
  const kept = sessionKey === MAIN_SESSION ? null : sessionKey;
  yield* writer.run(KEEP_MESSAGE, [messageId, channel, to, kept, Date.now()]);
}

const KEEP_MESSAGE = `
  INSERT INTO hookline.sent_messages (id, channel, recipient, session_key, sent_at) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (id, channel) DO NOTHING`;

export function retryDelivery(writer: Writer, claim: Claim, notBefore: number, error: string): Work<boolean> {
  return postpone(writer, claim, { notBefore, error, uncounted: 0 });
}

export function giveBackDelivery(writer: Writer, claim: Claim, notBefore: number, error: string): Work<boolean> {
  return postpone(writer, claim, { notBefore, error, uncounted: 1 });
}

/** Keeps the delivery the first to its recipient. */
function* postpone(
  writer: Writer,
  { id, token }: Claim,
  { notBefore, error, uncounted }: { notBefore: number; error: string; uncounted: 0 | 1 },
): Work<boolean> {
  writer.announce("delivery");
  const values = [id, token, Math.ceil(notBefore) + writer.clockOffsetMs, error, uncounted];
  const row = yield* writer.get(POSTPONE, values);
  // The earlier attempt has postponed it.
  if (!row) return writer.isRepeated && (yield* writer.get(WAS_POSTPONED, [id, token])) !== undefined;
  addFailedAttempt(writer, "deliveries", id, { at: Date.now(), error });
  yield* writer.report([toDeliveryReport(row, "pending")]);
  return true;
}

const POSTPONE = `
  UPDATE hookline.deliveries SET state = 'pending', not_before = $3, error = $4, ${toSurvived("$5")}
  WHERE id = $1 AND claims = $2 AND state = 'sending' RETURNING id, run_id, event_id`;

const WAS_POSTPONED = "SELECT 1 FROM hookline.deliveries WHERE id = $1 AND claims = $2 AND state = 'pending'";
