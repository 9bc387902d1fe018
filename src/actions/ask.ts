import type { AgentDriver, AgentReply, AgentTurn } from "../agents/port.ts";
import { DriverError } from "../errors.ts";
import { within } from "./within.ts";

/** A turn that used up its time. Lasting: another try would cost as much and end the same way. */
export class TurnTimeout extends DriverError {
  override name = "TurnTimeout";

  constructor(seconds: number) {
    super("lasting", `timed out after ${seconds} s`);
  }
}

/** Asks the agent for one turn. Rejects with the driver's error, a `TurnTimeout`, or the signal's reason. */
export function ask(
  agent: AgentDriver,
  turn: AgentTurn,
  { timeoutSeconds, signal }: { timeoutSeconds: number; signal: AbortSignal },
): Promise<AgentReply> {
  return within((ended) => agent.run(turn, ended), {
    timeoutMs: timeoutSeconds * 1000,
    toTimeout: () => new TurnTimeout(timeoutSeconds),
    signal,
  });
}
