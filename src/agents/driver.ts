/** One earlier turn of a session, oldest first. */
export interface HistoryEntry {
  role: "user" | "assistant";
  text: string;
}

/** One turn an agent is asked for. */
export interface AgentTurn {
  runId: string;
  sessionKey: string;
  /** heartbeat: a turn of the main session over its pending system events. */
  kind: "hook" | "heartbeat";
  history: HistoryEntry[];
  /** The prompt, untrusted text already inside its boundary. */
  message: string;
  /** `provider/model`: defaults and aliases are resolved already. */
  model?: string;
  /** `low`, `medium`, `high` or whatever the operator wrote; a driver takes the nearest level it knows. */
  thinking?: string;
  /** How long the turn may take. Whoever asks for it keeps the time, and aborts. */
  timeoutSeconds: number;
  /** The reply that means "nothing to report". */
  ack: string;
}

export interface AgentReply {
  text: string;
  /** Which model answered, as the driver names it. */
  model?: string;
  usage?: { inputTokens?: number; outputTokens?: number };
  /** Sentences for the run record: a thinking level that was lowered, say. */
  warnings?: string[];
}

/** Runs agent turns. Write one: a function from options to this object, and a line in `index.ts`. */
export interface AgentDriver {
  readonly name: string;
  /**
   * Resolves with the reply, or rejects with a `DriverError` that says whether another try can help.
   * Must settle soon after `signal` aborts, and must not act after that.
   */
  run(turn: AgentTurn, signal: AbortSignal): Promise<AgentReply>;
  /** Ends what it keeps running between turns, once no turn is under way. Absent: it keeps nothing. */
  close?(): void;
}
