import type { CallAnswer, OwnCall, OwnCalls } from "../ports/agent.ts";
import { cutName, hashJson } from "../shared/hash.ts";
import type { CallRules } from "./call-rules.ts";
import { ClaimLost, Suspended } from "./steps.ts";

/** The turn of an agent that calls by itself: each call is recorded and executed by `make`, one at a time. */
export interface OwnTurn {
  /** Aborts when the agent must end: some time after a person must be asked, or when its calls cannot be recorded. */
  signal: AbortSignal;
  /** The calls of a program that starts now. `model`: as the configuration names it. */
  open(model: string | undefined): OwnCalls;
  /**
   * Takes no further call, and waits for the one under way. Rejects with `Suspended` if a person must decide, and with what kept a
   * call from being recorded.
   */
  end(): Promise<void>;
}

/** A call and its answer. */
export interface MadeCall {
  name: string;
  arguments: unknown;
  text: string;
  isError: boolean;
}

export interface OwnTurnOptions {
  rules: CallRules;
  /** The calls that the run has made, oldest first. */
  made(): readonly MadeCall[];
  /** The same from a number on, as a prompt. */
  describe(from: number): string;
  /** Records a call, executes it, and records its result. Rejects with `Suspended` if a person must decide first. */
  make(call: OwnCall & { model: string | undefined }): Promise<MadeCall>;
  /** Counts private sources that the agent remembers, and gives all of the turn. */
  addSources(sources: readonly string[]): string[];
}

/** Agents put `mcp__hookline__` in front, and 64 characters are the limit. */
const MAX_NAME = 40;
/** How many calls a turn can make. */
const MAX_CALLS = 50;
/** How long an agent may take to end, once a person must be asked. */
const END_MS = 120_000;

const WAITING: CallAnswer = {
  text: "A person will be asked. End your turn: you will be called again with the outcome.",
  isError: false,
};

export function startOwnTurn(options: OwnTurnOptions): OwnTurn {
  const { rules, made, make } = options;
  const names = new Map(rules.tools.map(({ name }) => [cutName(name, MAX_NAME), name]));
  const tools = rules.tools.map((tool) => ({ ...tool, name: cutName(tool.name, MAX_NAME) }));
  const ending = new AbortController();
  let tail: Promise<unknown> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let failure: unknown;
  let isEnded = false;
  let count = 0;
  return {
    signal: ending.signal,
    open(model) {
      // A program that starts anew may repeat what was done for it.
      let known = [...made()];
      return {
        tools,
        isWaiting: () => failure instanceof Suspended,
        made: () => made().length,
        addSources: options.addSources,
        continueFrom(number) {
          known = made().slice(number);
          return options.describe(number);
        },
        execute(call, gone) {
          const answer = tail.then(() => {
            // Nobody waits for it.
            if (gone.aborted) return toRefusal("its caller is gone");
            return execute({ ...call, name: names.get(call.name) ?? call.name, model }, { known, gone });
          });
          tail = answer.catch(() => {});
          return answer;
        },
      };
    },
    async end() {
      isEnded = true;
      clearTimeout(timer);
      await tail;
      if (failure !== undefined) throw failure;
    },
  };

  async function execute(
    call: OwnCall & { model: string | undefined },
    { known, gone }: { known: MadeCall[]; gone: AbortSignal },
  ): Promise<CallAnswer> {
    if (failure instanceof Suspended) return WAITING;
    if (isEnded || failure !== undefined) return toRefusal("the turn has ended");
    const repeated = takeEqual(known, call);
    if (repeated) return answerWith(repeated, known, gone);
    if (count >= MAX_CALLS) return toRefusal(`a turn can make ${MAX_CALLS} calls at most`);
    count += 1;
    try {
      return answerWith(await make(call), known, gone);
    } catch (error) {
      failure = error;
      if (!(error instanceof Suspended)) {
        ending.abort(error);
        return toRefusal(error instanceof ClaimLost ? "the turn has ended" : "the call could not be recorded");
      }
      timer = setTimeout(() => ending.abort(error), END_MS);
      return WAITING;
    }
  }
}

/** An answer that the agent did not get is kept for the same call. */
function answerWith(made: MadeCall, known: MadeCall[], gone: AbortSignal): CallAnswer {
  const keep = (): void => void known.push(made);
  if (gone.aborted) keep();
  else gone.addEventListener("abort", keep, { once: true });
  return { text: made.text, isError: made.isError };
}

/** Each counts once, in their order. */
function takeEqual(known: MadeCall[], call: OwnCall): MadeCall | undefined {
  const hash = hashOf(call);
  const index = known.findIndex((one) => hashOf(one) === hash);
  return index < 0 ? undefined : known.splice(index, 1)[0];
}

function hashOf({ name, arguments: args }: Pick<OwnCall, "name" | "arguments">): string {
  return hashJson([name, args]);
}

function toRefusal(reason: string): CallAnswer {
  return { text: `Not sent: ${reason}.`, isError: true };
}
