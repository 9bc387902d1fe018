import type { Command } from "commander";
import { ConfigError } from "../../core/errors.ts";
import type { OperatorAnswers } from "../../operator/views.ts";
import { describeWait } from "../../core/shared/run-wait.ts";
import { addUpSpend, type SpendSum } from "../../core/shared/spend-sum.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { TURN_WORDS } from "../../core/shared/words.ts";
import {
  addListOptions,
  addServiceOptions,
  createSince,
  type ListFlags,
  type ServiceFlags,
  toOneOf,
} from "../command.ts";
import { formatCount, formatFacts, formatFailedAttempts, formatTable, shortenIds, toSeconds } from "../format.ts";
import { type CliIo, style } from "../io.ts";
import { addAnswer, type OperatorClient } from "../operator-client.ts";

type SpendFlags = ServiceFlags & { since?: string; by: SpendGroup };

const SPEND_GROUPS = ["hook", "mapping", "model"] as const;
type SpendGroup = (typeof SPEND_GROUPS)[number];

export function addLists(program: Command, io: CliIo): void {
  const sessions = program.command("sessions").description("Show the sessions of the agents.");
  addAnswer(
    addListOptions(sessions.command("list").description("List the sessions, the latest last.")),
    io,
    async (client, { limit }: ListFlags) => (await client.call("GET /api/sessions", { limit })).sessions,
    formatSessions,
  );
  const show = sessions.command("show").description("Show the entries of a session, oldest first.");
  addAnswer(
    addListOptions(show).argument("[key]", "key of the session; main has the summaries of all runs", "main"),
    io,
    (client, { limit }: ListFlags, id) => client.call("GET /api/sessions/:key*", { id, limit }),
    formatSession,
  );

  const runs = program.command("runs").description("Show the agents' turns, and release held ones.");
  const listRuns = runs.command("list").description("List the newest agent turns with their replies, the latest last.");
  addAnswer(
    addListOptions(listRuns).option("--state <state>", `only ${TURN_WORDS.join(", ")} runs`, toOneOf(TURN_WORDS)),
    io,
    async (client, { limit, state }: ListFlags & { state?: string }) =>
      (await client.call("GET /api/runs", { limit, state })).runs,
    formatRuns,
  );
  addAnswer(
    addServiceOptions(runs.command("show").description("Show one agent turn with its steps.")).argument("<id>", RUN_ID),
    io,
    async (client, _, id) => client.call("GET /api/runs/:id", { id: await findRun(client, id) }),
    formatRun,
  );
  addAnswer(
    addServiceOptions(
      runs.command("release").description("Start runs that agents.budget or limits.perRecipient holds."),
    )
      .argument("[ids...]", "only these runs, as `runs list` shows them")
      .option("--reason <text>", "only those that are held for this reason, as `runs list --state held` shows it")
      .option("--session <key>", "only that of this session"),
    io,
    async (client, { reason, session }: ReleaseFlags, ...ids) => {
      const found = await Promise.all(ids.map((id) => findRun(client, id)));
      const run = found.length > 0 ? found.join(",") : undefined;
      const { released } = await client.call("POST /api/runs/release", { reason, session, run });
      return { released };
    },
    ({ released }) => [released === 0 ? "No run is held." : `${formatCount(released, "run")} released.`],
  );
  addAnswer(
    addServiceOptions(runs.command("cancel").description("End an unfinished run for good, without a reply.")).argument(
      "<id>",
      RUN_ID,
    ),
    io,
    async (client, _, start) => {
      const id = await findRun(client, start);
      return { canceled: (await client.call("POST /api/runs/:id/cancel", { id })).id };
    },
    ({ canceled }) => [`${canceled}  canceled`],
  );

  addAnswer(
    addServiceOptions(program.command("spend").description("Show the tokens and the cost of agent turns."))
      .addOption(createSince("the first hour: a duration before now, or a date (default: 00:00 UTC today)"))
      .option("--by <group>", "a line for each hook, mapping or model", toOneOf(SPEND_GROUPS), "hook"),
    io,
    async (client, { by, ...flags }: SpendFlags) => {
      const { since, currency, spend } = await client.call("GET /api/spend", { since: flags.since });
      return {
        since,
        currency,
        spend: [...Map.groupBy(spend, (row) => row[by])].map(([name, rows]) => addUpSpend(name, rows)),
      };
    },
    formatSpend,
  );

  const rejections = program.command("rejections");
  addAnswer(
    addListOptions(
      rejections.description("List the newest refused requests, the latest last: wrong secrets, unknown hooks."),
    ),
    io,
    async (client, { limit }: ListFlags) => (await client.call("GET /api/rejections", { limit })).rejections,
    formatRejections,
  );
}

const RUN_ID = "id of the run, or the beginning of it, as `runs list` shows it";

type ReleaseFlags = ServiceFlags & { reason?: string; session?: string };

const ID_LENGTH = 36;

/** The id of the run whose id begins so. What begins no run's id stays as it is: the service says that there is none. */
async function findRun(client: OperatorClient, start: string): Promise<string> {
  if (start.length >= ID_LENGTH || !/^[\da-f-]+$/.test(start)) return start;
  // An id begins with its time, in milliseconds.
  const digits = start.replaceAll("-", "").slice(0, 12);
  const [from, last] = ["0", "f"].map((fill) => Number.parseInt(digits.padEnd(12, fill), 16));
  const { runs } = await client.call("GET /api/runs", {
    from: new Date(from!).toISOString(),
    to: new Date(last! + 1).toISOString(),
    limit: 500,
  });
  const [found, other] = runs.filter(({ id }) => id.startsWith(start));
  if (!other) return found?.id ?? start;
  throw new ConfigError([{ message: `Several runs begin with ${start}. \`npx hookline runs list\` shows them.` }]);
}

function formatSessions(
  sessions: OperatorAnswers["GET /api/sessions"]["sessions"],
  _: ListFlags,
  width?: number,
): string[] {
  const rows = sessions
    .toReversed()
    .map(({ key, subject, entries, updatedAt }) => ({ subject, key, entries, updated: toSeconds(updatedAt) }));
  return formatTable(rows, "There are no sessions.", width);
}

function formatSession({ key, entries, threads = [] }: OperatorAnswers["GET /api/sessions/:key*"]): string[] {
  if (entries.length === 0) return [`The session ${key} is empty.`];
  const places = threads.map(({ channel, to, thread }) => `thread ${thread} of ${to} on ${channel}`);
  const head = places.length > 0 ? [...places.map((place) => style("dim", toPrintable(place))), ""] : [];
  const shown = entries.flatMap(({ role, at, text }) => {
    const lines = toPrintable(text).split("\n");
    return [`${style("bold", role)}  ${style("dim", at)}`, ...lines.map((line) => `  ${line}`), ""];
  });
  return [...head, ...shown];
}

function formatRuns(runs: OperatorAnswers["GET /api/runs"]["runs"], _: ListFlags, width?: number): string[] {
  const short = shortenIds(runs.flatMap(({ eventId }) => eventId ?? []));
  const shortRun = shortenIds(runs.map(({ id }) => id));
  const rows = runs
    .toReversed()
    .map(
      ({ id, eventId, createdAt, state, hook, kind, sessionKey, reply, error, holdReason, waitingFor, waitsFor }) => ({
        run: shortRun(id),
        created: toSeconds(createdAt),
        event: eventId && short(eventId),
        state,
        hook: hook ?? kind,
        session: sessionKey,
        reply:
          reply ??
          (waitingFor === undefined ? error : `waiting for ${waitingFor}: ${error}`) ??
          holdReason ??
          (waitsFor && describeWait(waitsFor)),
      }),
    );
  return formatTable(rows, "There are no runs.", width);
}

interface SpendAnswer {
  since: string;
  currency?: string;
  spend: SpendSum[];
}

function formatSpend({ since, currency, spend }: SpendAnswer, { by }: SpendFlags): string[] {
  const rows = spend.length > 1 ? [...spend, addUpSpend("all", spend)] : spend;
  const shown = rows.map(({ name, runs, inputTokens, outputTokens, cost }) => ({
    [by]: name || (by === "hook" ? "heartbeat" : "-"),
    runs,
    input: inputTokens,
    output: outputTokens,
    [currency ?? "cost"]: cost > 0 ? cost.toFixed(4) : undefined,
  }));
  return formatTable(shown, `No agent has reported its tokens since ${since}.`);
}

function formatRejections(
  rejections: OperatorAnswers["GET /api/rejections"]["rejections"],
  _: ListFlags,
  width?: number,
): string[] {
  const rows = rejections.toReversed().map(({ at, reason, hook, client, size, repeated, hint, message }) => ({
    at: toSeconds(at),
    reason,
    hook,
    client,
    bytes: size,
    "": repeated && `${repeated} more`,
    why: hint ?? message,
  }));
  return formatTable(rows, "No request was refused.", width);
}

type RunTimeline = OperatorAnswers["GET /api/runs/:id"];
type Step = RunTimeline["steps"][number];

const MAX_TITLE = 80;

/** The text of a step is cut after this many lines; `--json` has all of it. */
const MAX_LINES = 20;

/** The lines of `webhooks runs show`. */
function formatRun(run: RunTimeline): string[] {
  const { id, state, hook, kind, sessionKey, model, usage, cost, reply, error, holdReason, waitingFor, waitsFor } = run;
  const wait = waitsFor && describeWait(waitsFor);
  const reason = holdReason ?? wait;
  const shown = reason === undefined ? state : `${state} (${reason})`;
  const facts: [string, string | undefined][] = [
    ["run", id],
    ["state", waitingFor === undefined ? shown : `waiting for ${waitingFor}`],
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
  const name = [`${n}`, kind, call ?? model ?? title?.slice(0, MAX_TITLE) ?? ""].join("  ");
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
