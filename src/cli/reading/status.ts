import type { Command } from "commander";
import { toSentence } from "../../errors.ts";
import type { StatusView } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addServiceOptions } from "../command.ts";
import { formatCount, formatDuration } from "../format.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import { createOperatorClient, type ServiceFlags } from "../operator-client.ts";

type Flags = ServiceFlags & { json: boolean };

export function addStatus(program: Command, io: CliIo): void {
  addServiceOptions(program.command("status"))
    .description(
      "Show whether the running service works: configuration, queue, sandbox, mailboxes. Exit 1 if something is wrong.",
    )
    .option("--json", "print JSON", false)
    .action((flags: Flags) => showStatus(flags, io));
}

async function showStatus({ json, ...flags }: Flags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const status = await client.call("GET /api/status");
  const problems = findProblems(status);
  if (problems.length > 0) io.exitCode = 1;
  if (json) return printJson(io, status);
  print(io, ...formatStatus(status), ...problems.map((problem) => style("red", toPrintable(problem))));
}

/** What an operator has to fix. */
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

function formatStatus({ version, startedAt, config, queue, sandbox, mail, budget, nodes = [] }: StatusView): string[] {
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
