import type { Command } from "commander";
import { toSentence } from "../../errors.ts";
import type { OperatorAnswers, StatusView } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addListOptions, addServiceOptions, createSince, EXIT_CODES, toOneOf } from "../command.ts";
import { formatCount, formatDuration, formatTable, shortenIds } from "../format.ts";
import { type CliIo, style } from "../io.ts";
import { type ListFlags, type OperatorClient, type ServiceFlags, showAnswer } from "../operator-client.ts";

type RunFlags = ListFlags & { state?: string };
type ReleaseFlags = ServiceFlags & { reason?: string };
type SpendFlags = ServiceFlags & { since?: string; by: SpendGroup };

const SPEND_GROUPS = ["hook", "mapping", "model"] as const;
type SpendGroup = (typeof SPEND_GROUPS)[number];

/** `webhooks sessions`, `runs`, `spend` and `rejections`. */
export function addLists(program: Command, io: CliIo): void {
  const sessions = program.command("sessions").description("Show the sessions of the agents.");
  addListOptions(sessions.command("list").description("List sessions, the latest first.")).action((flags: ListFlags) =>
    showAnswer(
      flags,
      io,
      async (client) => (await client.call("GET /api/sessions", { limit: flags.limit })).sessions,
      formatSessions,
    ),
  );
  addListOptions(sessions.command("show").description("Show the entries of a session, oldest first."))
    .argument("[key]", "key of the session; main has the summaries of all runs", "main")
    .action((key: string, flags: ListFlags) =>
      showAnswer(
        flags,
        io,
        (client) => client.call("GET /api/sessions/:key*", { id: key, limit: flags.limit }),
        formatSession,
      ),
    );

  const runs = program.command("runs").description("Show the agents' turns, and release held ones.");
  addListOptions(runs.command("list").description("List agent turns with their replies, newest first."))
    .option("--state <state>", "only ready, queued, running, held, done, dead or dropped runs")
    .action(({ limit, state, ...flags }: RunFlags) =>
      showAnswer(flags, io, async (client) => (await client.call("GET /api/runs", { limit, state })).runs, formatRuns),
    );
  addServiceOptions(runs.command("release").description("Start runs that agents.budget or limits.perSession holds."))
    .option("--reason <text>", "only those that are held for this reason, as `runs list --state held` shows it")
    .action(({ reason, ...flags }: ReleaseFlags) =>
      showAnswer(
        flags,
        io,
        async (client) => ({ released: (await client.call("POST /api/runs/release", { reason })).released }),
        ({ released }) => [released === 0 ? "No run is held." : `${formatCount(released, "run")} released.`],
      ),
    );

  addServiceOptions(program.command("spend").description("Show the tokens and the cost of agent turns."))
    .addOption(createSince("the first hour: a duration before now, or a date (default: 00:00 UTC today)"))
    .option("--by <group>", "a line for each hook, mapping or model", toOneOf(SPEND_GROUPS), "hook")
    .action(({ by, ...flags }: SpendFlags) =>
      showAnswer(
        flags,
        io,
        async (client) => {
          const { since, spend } = await client.call("GET /api/spend", { since: flags.since });
          return { since, spend: [...Map.groupBy(spend, (row) => row[by])].map(([name, rows]) => addUp(name, rows)) };
        },
        ({ since, spend }) =>
          spend.length === 0 ? [`No agent has reported its tokens since ${since}.`] : formatSpend(by, spend),
      ),
    );

  const rejections = program.command("rejections");
  addListOptions(rejections.description("List refused requests, newest first: wrong secrets, unknown hooks.")).action(
    (flags: ListFlags) =>
      showAnswer(
        flags,
        io,
        async (client) => (await client.call("GET /api/rejections", { limit: flags.limit })).rejections,
        formatRejections,
      ),
  );
}

function formatSessions(sessions: OperatorAnswers["GET /api/sessions"]["sessions"]): string[] {
  const rows = sessions.map(({ key, entries, updatedAt }) => [key, entries, updatedAt]);
  return formatTable(["key", "entries", "updated"], rows, "There are no sessions.");
}

function formatSession({ key, entries }: OperatorAnswers["GET /api/sessions/:key*"]): string[] {
  if (entries.length === 0) return [`The session ${key} is empty.`];
  return entries.flatMap(({ role, at, text }) => {
    const lines = toPrintable(text).split("\n");
    return [`${style("bold", role)}  ${style("dim", at)}`, ...lines.map((line) => `  ${line}`), ""];
  });
}

function formatRuns(runs: OperatorAnswers["GET /api/runs"]["runs"]): string[] {
  const short = shortenIds(runs.flatMap(({ eventId }) => eventId ?? []));
  const rows = runs.map(({ eventId, createdAt, state, hook, kind, sessionKey, reply, error, holdReason }) => [
    createdAt,
    eventId && short(eventId),
    state,
    hook ?? kind,
    sessionKey,
    reply ?? error ?? holdReason,
  ]);
  return formatTable(["created", "event", "state", "hook", "session", "reply"], rows, "There are no runs.");
}

type Spend = OperatorAnswers["GET /api/spend"]["spend"][number];

interface SpendRow extends Pick<Spend, "runs" | "inputTokens" | "outputTokens" | "cost"> {
  name: string;
}

function addUp(name: string, rows: Omit<SpendRow, "name">[]): SpendRow {
  const total = { name, runs: 0, inputTokens: 0, outputTokens: 0, cost: 0 };
  for (const { runs, inputTokens, outputTokens, cost } of rows) {
    total.runs += runs;
    total.inputTokens += inputTokens;
    total.outputTokens += outputTokens;
    total.cost += cost;
  }
  return total;
}

function formatSpend(by: SpendGroup, spend: SpendRow[]): string[] {
  const rows = (spend.length > 1 ? [...spend, addUp("all", spend)] : spend).map((row) => [
    row.name || (by === "hook" ? "heartbeat" : "-"),
    row.runs,
    row.inputTokens,
    row.outputTokens,
    row.cost > 0 ? row.cost.toFixed(4) : undefined,
  ]);
  return formatTable([by, "runs", "input", "output", "cost"], rows);
}

function formatRejections(rejections: OperatorAnswers["GET /api/rejections"]["rejections"]): string[] {
  const rows = rejections.map(({ at, reason, hook, client, size, repeated, hint, message }) => [
    at.replace(/\.\d+Z$/, "Z"),
    reason,
    hook,
    client,
    size,
    repeated && `${repeated} more`,
    hint ?? message,
  ]);
  const names = ["at", "reason", "hook", "client", "bytes", "", "why"];
  return formatTable(names, rows, "No request was refused.");
}

export function addStatus(program: Command, io: CliIo): void {
  addServiceOptions(program.command("status"))
    .description(
      "Show whether the running service works: configuration, queue, sandbox, mailboxes. Exit 1 if something is wrong.",
    )
    .action((flags: ServiceFlags) => showAnswer(flags, io, (client) => askStatus(client, io), formatStatus));
}

async function askStatus(client: OperatorClient, io: CliIo): Promise<StatusView> {
  const status = await client.call("GET /api/status");
  if (findProblems(status).length > 0) io.exitCode = EXIT_CODES.failed;
  return status;
}

function findProblems({ lastReloadError, sandbox, mail, nodesDiffer = [] }: StatusView): string[] {
  return [
    ...(lastReloadError?.problems ?? []).map((problem) => `not reloaded: ${toSentence(problem)}`),
    ...(sandbox.ready ? [] : ["the sandbox is not ready"]),
    ...sandbox.openBreakers.map(
      ({ file, retryAfterMs }) =>
        `calls of ${file} are refused for ${formatDuration(retryAfterMs)}: only failures came from it`,
    ),
    ...nodesDiffer.map((name) => `the nodes differ in ${name}: give all of them the same`),
    ...mail.flatMap(({ mailbox, error }) => (error === undefined ? [] : [`${mailbox}: ${error}`])),
  ];
}

function formatStatus(status: StatusView): string[] {
  const { version, startedAt, config, queue, sandbox, mail, budget, nodes = [] } = status;
  const { events, pendingRuns, pendingDeliveries, pendingSystemEvents } = queue;
  const deliveries = formatCount(pendingDeliveries, "delivery", "deliveries");
  const rows: [string, string][] = [
    ["service", `Hookline ${version}, since ${startedAt}`],
    [
      "config",
      `${config.file ?? "of a program"}, ${formatCount(config.mappings.length, "mapping")}, generation ${config.generation} of ${config.at}`,
    ],
    [
      "queue",
      `${formatCount(events, "event")}; ${formatCount(pendingRuns, "run")}, ${deliveries} and ${formatCount(pendingSystemEvents, "system event")} waiting`,
    ],
    [
      "sandbox",
      `${sandbox.ready ? "ready" : "not ready"}, ${formatCount(sandbox.calls, "call")}, ${formatCount(sandbox.failures, "failure")}`,
    ],
    ...(budget ? [["budget", describeBudget(budget)] satisfies [string, string]] : []),
    ...mail.map(({ mailbox, state }): [string, string] => ["mail", `${mailbox} ${state}`]),
    ...nodes.map((node): [string, string] => ["node", describeNode(node)]),
  ];
  return [
    ...rows.map(([name, text]) => `${style("dim", name.padEnd(9))}${toPrintable(text)}`),
    ...config.warnings.map((warning) => style("yellow", `warning: ${toPrintable(warning)}`)),
    ...findProblems(status).map((problem) => style("red", toPrintable(problem))),
  ];
}

function describeNode({ id, role, host, version, config, seenAt, isAlive }: Node): string {
  const state = isAlive ? "" : ", gone";
  return `${id} ${role} on ${host}, ${version}, config ${config}, last contact ${seenAt}${state}`;
}

type Node = NonNullable<StatusView["nodes"]>[number];

function describeBudget({ unit, perDay, spentToday, heldRuns }: NonNullable<StatusView["budget"]>): string {
  const limit = perDay === undefined ? "" : ` of ${perDay}`;
  return `${spentToday}${limit} ${unit} today, ${formatCount(heldRuns, "run")} held`;
}
