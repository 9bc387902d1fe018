import type { CallOutcome, Exchange, RequestedCall } from "../agents/driver.ts";
import { neutralize, toPrompt } from "../boundary/boundary.ts";
import type { Step } from "../journal/journal.ts";

/** An answer of a model that asked for calls, with their results. */
export interface PastExchange extends Exchange {
  /** The model that answered, as the configuration names it. */
  asked: string | undefined;
  calls: RequestedCall[];
}

/** An answer with the results of its calls, as the model is given them. */
export function toExchange({ answer }: Step, results: Step[]): PastExchange {
  const { asked, calls = [], content } = answer ?? {};
  return { asked, calls, answer: content, results: calls.map((call, index) => toOutcome(call, results[index])) };
}

function toOutcome({ toolCallId, name }: RequestedCall, result: Step | undefined): CallOutcome {
  const { text = "", boundary, state } = result ?? {};
  return { toolCallId, name, text: toPrompt({ text, boundary }), isError: state !== "done" };
}

/** Calls and their results as plain text, for a model that cannot continue from the answers of another. */
export function toPlainText(exchanges: readonly PastExchange[]): string {
  if (exchanges.length === 0) return "";
  const lines = exchanges.flatMap(({ calls, results }) =>
    calls.map((call, index) => {
      const written = neutralize(`${call.name} ${JSON.stringify(call.arguments)}`);
      return `You asked for ${written}\n${results[index]?.text ?? ""}`;
    }),
  );
  return `\n\nThese calls were made for you, and these are their results.\n\n${lines.join("\n\n")}`;
}

/** How many results an exchange can still lose. */
export function countResults(exchanges: readonly PastExchange[]): number {
  return exchanges.reduce((sum, { results }) => sum + results.length, 0);
}

/** With a note in place of each of the oldest results. */
export function leaveOut(exchanges: readonly PastExchange[], count: number): PastExchange[] {
  let number = 0;
  return exchanges.map((exchange) => ({
    ...exchange,
    results: exchange.results.map((result) => {
      number += 1;
      return number <= count ? { ...result, text: `[result ${number} left out]` } : result;
    }),
  }));
}
