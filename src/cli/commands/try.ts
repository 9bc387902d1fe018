import { readFileSync } from "node:fs";
import path from "node:path";
import { styleText } from "node:util";
import { ConfigError, messageOf } from "../../errors.ts";
import { resolveRequest } from "../../mapping/resolve.ts";
import { runTrial, type Trial } from "../../operator/trial.ts";
import { toPrintable } from "../../telemetry/log.ts";
import type { LogLine } from "../../types.ts";
import { withProgram, workingFolder } from "../context.ts";

export interface TryFlags {
  config?: string;
  header: Record<string, string>;
  query: Record<string, string>;
  json: boolean;
}

/**
 * Shows what the service would make of the payload: to a person at a terminal, elsewhere as JSON. Exit code 1 where it
 * would be refused.
 */
export async function tryHook(hook: string, payloadFile: string, flags: TryFlags): Promise<void> {
  const payload = readPayload(payloadFile);
  await withProgram(flags.config, async (program, { run }) => {
    const trial = await runTrial({ hook, payload, headers: flags.header, query: flags.query }, program, (request) =>
      resolveRequest(request, { ...program, run }),
    );
    if (process.stdout.isTTY && !flags.json) console.log(printTrial(hook, trial).join("\n"));
    else printJson(trial);
    if (!trial.ok) process.exitCode = 1;
  });
}

/** The result goes to standard output, everything that is for a person to standard error. */
function printJson({ log, ...trial }: Trial): void {
  for (const line of printLog(log)) console.error(line);
  if (!trial.ok && trial.detail) console.error(toPrintable(trial.detail));
  console.log(JSON.stringify(trial, undefined, 2));
}

function readPayload(file: string): unknown {
  const name = file === "-" ? "standard input" : path.resolve(workingFolder(), file);
  try {
    return JSON.parse(readFileSync(file === "-" ? 0 : name, "utf8"));
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const message = isMissing ? `There is no file ${name}.` : `${name} cannot be read as JSON: ${messageOf(error)}`;
    throw new ConfigError([{ message }]);
  }
}

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

/** Actions as a person reads them: the kind, then a field a line; a text of several lines stands below its name. */
export function printActions(actions: object[]): string[] {
  if (actions.length === 0) return ["skipped: no action"];
  return actions.flatMap((action) =>
    Object.entries(action).flatMap(([name, value]: [string, unknown]) => printField(name, value)),
  );
}

function printField(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (typeof value !== "string") return [`  ${name}: ${JSON.stringify(value)}`];
  if (name === "kind") return [value];
  const text = toPrintable(value);
  if (!text.includes("\n")) return [`  ${name}: ${text}`];
  return [`  ${name}:`, ...text.split("\n").map((line) => `    ${line}`.trimEnd())];
}

const COLOURS = { debug: "dim", log: "dim", info: "cyan", warn: "yellow", error: "red" } as const;

/** What a transform wrote to its console, a line each; texts of several lines stand under one another. */
export function printLog(log: LogLine[]): string[] {
  return log.flatMap(({ level, text }) => {
    const label = `${level}: `;
    const [first = "", ...rest] = toPrintable(text).split("\n");
    return [styleText(COLOURS[level], label) + first, ...rest.map((line) => " ".repeat(label.length) + line)];
  });
}
