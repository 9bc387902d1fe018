import { DriverError } from "../errors.ts";
import type { AcpAnswer } from "./acp-session.ts";
import type { AgentReply } from "./port.ts";

/**
 * The reply in what an agent answered. A text that was cut short by a limit is a reply with a warning; throws a
 * `DriverError` where it refused, was cancelled, or met a limit before it wrote anything.
 */
export function toAcpReply(
  name: string,
  { text, stopReason, warnings }: AcpAnswer,
  model: string | undefined,
): AgentReply {
  const finished = stopReason === "end_turn";
  const given = stopReason !== "refusal" && stopReason !== "cancelled" && text.trim() !== "";
  if (!finished && !given) throw noReply(name, stopReason);
  const incomplete = finished ? [] : [`The reply may be incomplete: it ended with "${stopReason}".`];
  return { text, model, warnings: [...warnings, ...incomplete] };
}

/** The same prompt would be refused, or meet the limit, again. */
function noReply(name: string, reason: AcpAnswer["stopReason"]): DriverError {
  const kind = reason === "cancelled" ? "passing" : "lasting";
  return new DriverError(kind, `${name} ended with "${reason}" before it wrote a reply.`);
}
