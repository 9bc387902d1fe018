import type { OperatorAnswers } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { formatFacts, formatFailedAttempts } from "../format.ts";
import { style } from "../io.ts";

type RunTimeline = OperatorAnswers["GET /api/runs/:id"];
type Step = RunTimeline["steps"][number];

/** The text of a step is cut after this many lines; `--json` has all of it. */
const MAX_LINES = 20;

/** The lines of `webhooks runs show`. */
export function formatRun(run: RunTimeline): string[] {
  const { id, state, hook, kind, sessionKey, model, usage, cost, reply, error, holdReason, waitingFor } = run;
  const reason = waitingFor === undefined ? holdReason : `waiting for ${waitingFor}`;
  const facts: [string, string | undefined][] = [
    ["run", id],
    ["state", reason === undefined ? state : `${state} (${reason})`],
    ["hook", hook ?? kind],
    ["session", sessionKey],
    ["model", model],
    ["used", formatUsed({ usage, cost })],
    ["error", error],
  ];
  return [
    ...formatFacts(facts),
    ...formatFailedAttempts(run.failedAttempts),
    ...run.steps.flatMap(formatStep),
    ...(reply === undefined ? [] : ["", style("bold", "reply"), ...indent(reply)]),
  ];
}

function formatStep(step: Step): string[] {
  const { n, kind, call, model, state, startedAt, finishedAt, sources, title, decided } = step;
  const ms = finishedAt === undefined ? undefined : Date.parse(finishedAt) - Date.parse(startedAt);
  const facts = [
    startedAt,
    state === "done" ? undefined : state,
    ms === undefined ? undefined : `${ms} ms`,
    formatUsed(step),
    decided && `${decided.decision} by ${decided.by}`,
    sources.length > 0 ? `private: ${sources.join(", ")}` : undefined,
  ];
  const name = [`${n}`, kind, call ?? model ?? title ?? ""].join("  ");
  const shown = facts.filter((fact) => fact !== undefined).join("  ");
  return [
    "",
    `${style("bold", toPrintable(name))}  ${style("dim", toPrintable(shown))}`,
    ...(step.arguments ? indent(JSON.stringify(step.arguments)) : []),
    ...(step.text ? indent(step.text) : []),
  ];
}

function formatUsed({ usage, cost }: Pick<Step, "usage" | "cost">): string | undefined {
  if (!usage) return undefined;
  const { inputTokens = 0, outputTokens = 0 } = usage;
  const tokens = `${inputTokens} + ${outputTokens} tokens`;
  return cost === undefined ? tokens : `${tokens}, ${Number(cost.toPrecision(3))}`;
}

function indent(text: string): string[] {
  const lines = toPrintable(text).split("\n");
  const rest = lines.length - MAX_LINES;
  return [
    ...lines.slice(0, MAX_LINES).map((line) => `  ${line}`),
    ...(rest > 0 ? [style("dim", `  … ${rest} more lines, see --json`)] : []),
  ];
}
