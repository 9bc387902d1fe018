import { MailError, messageOf } from "../../errors.ts";
import type { MailState } from "./states.ts";

/** What a source's error means for its folder. */
export interface SourceTrouble {
  state: Extract<MailState, "network" | "login-refused" | "tls-failed" | "mailbox-gone">;
  /** For the operator. */
  error: string;
  /** For the log: of an error that no source is known to word, its name alone. It may quote a mail. */
  reason: string;
}

const STATES = {
  network: "network",
  login: "login-refused",
  tls: "tls-failed",
  gone: "mailbox-gone",
} as const;

/** An error that is none of a source's counts as the network's: the next try may go well. */
export function toTrouble(error: unknown): SourceTrouble {
  const message = messageOf(error);
  if (error instanceof MailError) return { state: STATES[error.kind], error: message, reason: message };
  return { state: "network", error: message, reason: error instanceof Error ? error.name : "unknown" };
}
