import type { Command } from "commander";
import type { OperatorAnswers } from "../../operator/views.ts";
import { addServiceOptions, createSince, toOneOf } from "../command.ts";
import { formatTable } from "../format.ts";
import { type CliIo, print, printJson } from "../io.ts";
import { createOperatorClient, type ServiceFlags } from "../operator-client.ts";

const GROUPS = ["hook", "mapping", "model"] as const;

interface SpendFlags extends ServiceFlags {
  since?: string;
  by: (typeof GROUPS)[number];
  json: boolean;
}

export function addSpend(program: Command, io: CliIo): void {
  addServiceOptions(program.command("spend"))
    .description("Show the tokens and the cost of agent turns.")
    .addOption(createSince("the first hour: a duration before now, or a date (default: 00:00 UTC today)"))
    .option("--by <group>", "a line for each hook, mapping or model", toOneOf(GROUPS), "hook")
    .option("--json", "print JSON", false)
    .action((flags: SpendFlags) => showSpend(flags, io));
}

async function showSpend({ since, by, json, ...service }: SpendFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(service, io);
  const answer = await client.call("GET /api/spend", { since });
  const rows = groupBy(by, answer.spend);
  if (json) printJson(io, { since: answer.since, spend: rows });
  else if (rows.length === 0) print(io, `No agent has reported its tokens since ${answer.since}.`);
  else print(io, ...formatSpend(by, rows));
}

type Spend = OperatorAnswers["GET /api/spend"]["spend"][number];

interface SpendRow extends Pick<Spend, "runs" | "inputTokens" | "outputTokens" | "cost"> {
  name: string;
}

function groupBy(by: SpendFlags["by"], spend: Spend[]): SpendRow[] {
  return [...Map.groupBy(spend, (row) => row[by])].map(([name, rows]) => addUp(name, rows));
}

function addUp(name: string, rows: Omit<SpendRow, "name">[]): SpendRow {
  const sum = (read: (row: Omit<SpendRow, "name">) => number): number =>
    rows.reduce((total, row) => total + read(row), 0);
  return {
    name,
    runs: sum(({ runs }) => runs),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cost: sum(({ cost }) => cost),
  };
}

function formatSpend(by: SpendFlags["by"], rows: SpendRow[]): string[] {
  const lines = (rows.length > 1 ? [...rows, addUp("all", rows)] : rows).map((row) => [
    row.name || (by === "hook" ? "heartbeat" : "-"),
    row.runs,
    row.inputTokens,
    row.outputTokens,
    row.cost > 0 ? row.cost.toFixed(4) : undefined,
  ]);
  return formatTable([by, "runs", "input", "output", "cost"], lines);
}
