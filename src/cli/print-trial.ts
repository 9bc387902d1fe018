import { styleText } from "node:util";
import type { Trial } from "../operator/trial.ts";
import { printActions } from "./print-actions.ts";
import { printLog } from "./print-log.ts";
import { toPrintable } from "../telemetry/to-printable.ts";

/** A trial as a person reads it: which mapping took it, how long that took, its log, its actions or what went wrong. */
export function printTrial(hook: string, trial: Trial): string[] {
  const time = styleText("dim", `${trial.durationMs.toFixed(1)} ms`);
  const log = printLog(trial.log);
  const logBlock = log.length > 0 ? [...log, ""] : [];
  const taker = trial.mapping === undefined ? "" : `, taken by the mapping ${trial.mapping}`;
  if (!trial.ok) {
    const answer = styleText("red", `✗ ${hook} would be answered with ${trial.status} ${trial.code}`);
    return [`${answer}${taker} ${time}`, "", ...logBlock, toPrintable(trial.detail ?? trial.error)];
  }
  const warnings = trial.warnings.map((warning) => styleText("yellow", `warning: ${warning}`));
  return [
    `${styleText("green", `✓ ${hook}`)}${taker} ${time}`,
    "",
    ...logBlock,
    ...warnings,
    ...printActions(trial.actions),
  ];
}
