import type { Command } from "commander";
import { toSentence } from "../../errors.ts";
import type { StatusView } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addServiceOptions, EXIT_CODES } from "../command.ts";
import { formatCount, formatDuration } from "../format.ts";
import { type CliIo, style } from "../io.ts";
import { type OperatorClient, type ServiceFlags, showAnswer } from "../operator-client.ts";

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
