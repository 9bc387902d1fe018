import type { AgentTurn } from "../agents/port.ts";

/** A turn with everything filled in that a test does not care about. */
export function turnOf(turn: Partial<AgentTurn> = {}): AgentTurn {
  return {
    runId: "run-1",
    sessionKey: "hook:1",
    kind: "hook",
    history: [],
    message: "What is new?",
    timeoutSeconds: 60,
    ack: "HEARTBEAT_OK",
    ...turn,
  };
}
