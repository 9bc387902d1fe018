import type { OfferedChange, RequestedCall, TokenUsage } from "../../ports/agent.ts";
import type { Bounded } from "../../boundary/boundary.ts";
import type { Decision } from "../../types.ts";

/**
 * A part of a run: something that was read for the agent, an answer of the model, or a call that the model asked for. A note
 * is what an agent with tools of its own said or did before its reply; no attempt continues from it.
 */
export interface Step {
  /** Its place in the run, from 1. */
  n: number;
  kind: "context" | "model" | "call" | "note";
  /**
   * waiting: a person is asked · started: a call was sent, and its result is not recorded · unknown: nobody knows whether it
   * was executed.
   */
  state: "waiting" | "started" | "done" | "failed" | "unknown";
  startedAt: number;
  finishedAt?: number;
  /** The full name of a call or of what was read as context: `tickets.show`. */
  call?: string;
  /** The arguments that were sent. */
  arguments?: CallArguments;
  /** The model's id of the call. */
  toolCallId?: string;
  /** A call that changes something: the same for each time that it is sent. */
  callId?: string;
  /** The rules of calls have refused it, so it was neither sent nor shown to a person. */
  refused?: true;
  /** Digest of the call and its arguments. */
  hash?: string;
  /** The person who decided, and what was decided. */
  decided?: Verdict;
  /** The address of the pull request that a call has made or found. */
  pull?: string;
  /** A result that came after a person had decided without it. */
  late?: LateResult;
  /** The title of a context, as in the prompt; of a note, what the agent called. */
  title?: string;
  /** The model's answer, or the result of a call or a context: an error if it failed. */
  text?: string;
  /** With `text`: the boundary in which the model sees it. */
  boundary?: Bounded["boundary"];
  /** An answer that asks for calls. Their steps follow it, in their order. */
  answer?: {
    /** The model, as the configuration names it. */
    asked?: string;
    calls: RequestedCall[];
    /** The turn of an agent that calls by itself, from 1 in each run. */
    turn?: number;
    /** With the only call, which the service makes of the agent's files: what it sends. The turn ends with it. */
    change?: OfferedChange;
    /** The driver's own form of the answer, to continue from: plain JSON. */
    content: unknown;
  };
  model?: string;
  usage?: TokenUsage;
  /** In the currency of the configured prices. */
  cost?: number;
  /** The private sources that the text was made from. */
  sources: string[];
}

/** By name. */
export interface CallArguments {
  [name: string]: unknown;
}

interface Verdict {
  decision: Decision;
  by: string;
}

interface LateResult {
  state: Step["state"];
  text?: string;
  finishedAt?: number;
}
