/** One earlier turn of a session, oldest first. */
export interface HistoryEntry {
  role: "user" | "assistant";
  text: string;
}

/** One request to an agent. */
export interface AgentTurn {
  runId: string;
  sessionKey: string;
  /** heartbeat: a turn of the main session over its pending system events. */
  kind: "hook" | "heartbeat";
  history: HistoryEntry[];
  /** The prompt. Untrusted text is inside its boundary. */
  message: string;
  /** `provider/model`: defaults and aliases are resolved already. */
  model?: string;
  /** `low`, `medium`, `high` or any other word of the operator; a driver uses the nearest level that it knows. */
  thinking?: string;
  /** How long the turn may take. The caller aborts it then. */
  timeoutSeconds: number;
  /** The reply that means "nothing to report". */
  ack: string;
}

export interface AgentReply {
  text: string;
  /** The model that answered. */
  model?: string;
  usage?: { inputTokens?: number; outputTokens?: number };
  /** Sentences for the run record, for example about a thinking level that was lowered. */
  warnings?: string[];
}

/** Runs agent turns. */
export interface AgentDriver {
  readonly name: string;
  /** Rejects with a `DriverError`. After `signal` aborts it must settle soon and do nothing more. */
  run(turn: AgentTurn, signal: AbortSignal): Promise<AgentReply>;
  /**
   * For an agent that answers at once, from the message alone: the service calls this instead of `run` where it can, and
   * needs fewer commits for the turn. It must have no effect, since it may be called twice for a turn.
   */
  replyNow?(turn: Omit<AgentTurn, "history">): AgentReply;
  /** Ends what the driver keeps running between turns, once no turn is running. */
  close?(): void;
}
