import type { Command } from "commander";
import { addServiceOptions, toCount } from "../command.ts";
import { formatTable } from "../format.ts";
import { type CliIo, print, printJson } from "../io.ts";
import { createOperatorClient, type ServiceFlags } from "../operator-client.ts";

type Flags = ServiceFlags & { limit: number; json: boolean };

export function addRejections(program: Command, io: CliIo): void {
  const command = program
    .command("rejections")
    .description("List refused requests, newest first: wrong secrets, unknown hooks.");
  addServiceOptions(command)
    .option("--limit <number>", "at most this many", toCount, 50)
    .option("--json", "print JSON", false)
    .action((flags: Flags) => listRejections(flags, io));
}

async function listRejections({ limit, json, ...flags }: Flags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const { rejections } = await client.call("GET /api/rejections", { limit });
  if (json) return printJson(io, rejections);
  const rows = rejections.map(({ at, reason, hook, client: from, size, repeated, hint, message }) => [
    at.replace(/\.\d+Z$/, "Z"),
    reason,
    hook,
    from,
    size,
    repeated && `${repeated} more`,
    hint ?? message,
  ]);
  const names = ["at", "reason", "hook", "client", "bytes", "", "why"];
  print(io, ...(rows.length === 0 ? ["No request was refused."] : formatTable(names, rows)));
}
