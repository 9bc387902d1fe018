import { toCommand } from "../../core/shared/text/command.ts";
import { hashCall } from "../../agents/tools/lock.ts";
import type { OpenSet, ToolSets } from "../../core/ports/open-tool-sets.ts";
import { DriverError, messageOf } from "../../core/errors.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { withPeriod } from "../../core/shared/text/text.ts";
import { formatCount } from "../format.ts";
import { type CheckResult, note, ok, problem } from "./doctor-machine.ts";

const ANSWER_MS = 20_000;

/** Whether the servers of tool sets offer what was accepted. All are asked side by side, and programs are ended again. */
export async function checkTools({ sets, close }: ToolSets): Promise<CheckResult[]> {
  try {
    return (await Promise.all(Array.from(sets, ([name, set]) => checkSet(name, set)))).flat();
  } finally {
    close();
  }
}

async function checkSet(set: string, { calls, discover }: OpenSet): Promise<CheckResult[]> {
  if (!discover) return [];
  const name = `tool set ${set}`;
  try {
    const offer = await discover(AbortSignal.timeout(ANSWER_MS));
    const offered = new Map(offer.calls.map((call) => [call.name, hashCall(call)]));
    const changed = calls.filter((call) => offered.get(call.name) !== hashCall(call));
    const leftOut = offer.leftOut.map((call) =>
      note(name, toPrintable(`${set}.${call.name} is left out: ${withPeriod(call.reason)}`)),
    );
    const next = toCommand("tools accept", set);
    const differing = changed.map(({ fullName }) =>
      problem(name, toPrintable(`${fullName} differs from what was accepted, so it is refused`), next),
    );
    if (differing.length > 0) return [...differing, ...leftOut];
    const state = calls.length === 0 ? "no call is accepted" : `${formatCount(calls.length, "call")} as accepted`;
    return [ok(name, state), ...leftOut];
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    // A server that is away is no fault of this machine.
    return [note(name, `not checked: ${toPrintable(messageOf(error))}`)];
  }
}
