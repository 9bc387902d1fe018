import { toolSetOf } from "../shared/text/text.ts";
import { protect, toPrompt } from "../boundary/boundary.ts";
import { DriverError, messageOf } from "../errors.ts";
import type { Step } from "../journal/journal.ts";
import type { CallResult } from "../ports/tool-set.ts";
import type { ToolSets } from "../ports/open-tool-sets.ts";
import type { ContextCall } from "../types.ts";

export interface ContextOptions {
  tools: Pick<ToolSets, "find" | "explainMissing">;
  runId: string;
  hook: string;
  /** Steps of an earlier attempt are not read again. */
  recorded: readonly Step[];
  signal: AbortSignal;
}

/** The context behind an agent's message: a block for each call, in order. */
export interface ReadContext {
  /** Empty, or begins with a blank line. */
  prompt: string;
  /** One for each call, numbered from 1. */
  steps: Step[];
  /** The private sets that were read. */
  sources: string[];
  /** Sentences for the run record, for what could not be read. */
  warnings: string[];
}

/** Reads the context of a run, side by side. Rejects with a `DriverError` if something that is required cannot be read. */
export async function readContext(calls: readonly ContextCall[], options: ContextOptions): Promise<ReadContext> {
  const steps = await Promise.all(
    calls.map(async (call, index) => {
      const known = options.recorded.find(({ n, kind }) => n === index + 1 && kind === "context");
      return known ?? readStep(call, index + 1, options);
    }),
  );
  return {
    prompt: steps.map((step) => `\n\n${toBlock(step, options.hook)}`).join(""),
    steps,
    sources: steps.flatMap(({ sources }) => sources),
    warnings: steps.flatMap(({ state, text = "" }) => (state === "failed" ? text : [])),
  };
}

function toBlock({ state, text = "", title = "", call = "" }: Step, hook: string): string {
  if (state === "failed") return text;
  // Protected even if the mapping allows unsafe content: its author has not seen this text.
  return toPrompt(protect(text, { allowUnsafeExternalContent: false, before: `${title}:\n` }, { source: call, hook }));
}

async function readStep(
  { call, title, required, isPublic, ...entry }: ContextCall,
  n: number,
  { tools, runId, signal }: ContextOptions,
): Promise<Step> {
  const startedAt = Date.now();
  const { text, isError, reason = "the call failed" } = await read().catch(toFailure);
  const failure = `${title} could not be read: ${reason.replace(/\.$/, "")}.`;
  if (isError && required) throw new DriverError(failure, { retryable: true });
  return {
    n,
    kind: "context",
    state: isError ? "failed" : "done",
    call,
    title,
    arguments: entry.arguments,
    text: isError ? failure : text,
    sources: !isPublic && tools.find(call)?.audience === "private" ? [toolSetOf(call)] : [],
    startedAt,
    finishedAt: Date.now(),
  };

  async function read(): Promise<CallResult> {
    const found = tools.find(call);
    if (!found) return { text: "", isError: true, reason: tools.explainMissing(call) };
    const callId = `${runId}/${n}`;
    return found.call(entry.arguments, { signal, callId, isRepeatable: true, maxResultLength: entry.maxLength });
  }

  function toFailure(error: unknown): CallResult {
    signal.throwIfAborted();
    if (!(error instanceof DriverError)) throw error;
    return { text: "", isError: true, reason: messageOf(error) };
  }
}
