import type { Command } from "commander";
import type { OperatorAnswers } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addServiceOptions, toCount } from "../command.ts";
import { formatCount, formatTable, shortenIds } from "../format.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import { createOperatorClient, type ServiceFlags } from "../operator-client.ts";

type ListFlags = ServiceFlags & { limit: number; json: boolean };

/** `webhooks sessions` and `webhooks runs`. */
export function addSessions(program: Command, io: CliIo): void {
  const sessions = program.command("sessions").description("Show the sessions of the agents.");
  addListOptions(sessions.command("list").description("List sessions, the latest first.")).action((flags: ListFlags) =>
    listSessions(flags, io),
  );
  addListOptions(sessions.command("show").description("Show the entries of a session, oldest first."))
    .argument("[key]", "key of the session; main has the summaries of all runs", "main")
    .action((key: string, flags: ListFlags) => showSession(key, flags, io));

  const runs = program.command("runs").description("Show the agents' turns, and release held ones.");
  addListOptions(runs.command("list").description("List agent turns with their replies, newest first."))
    .option("--state <state>", "only ready, queued, running, held, done, dead or dropped runs")
    .action((flags: ListFlags & { state?: string }) => listRuns(flags, io));
  addServiceOptions(runs.command("release").description("Start runs that agents.budget or limits.perSession holds."))
    .option("--reason <text>", "only those that are held for this reason, as `runs list --state held` shows it")
    .option("--json", "print JSON", false)
    .action((flags: ServiceFlags & { reason?: string; json: boolean }) => releaseRuns(flags, io));
}

function addListOptions(command: Command): Command {
  return addServiceOptions(command)
    .option("--limit <number>", "at most this many", toCount, 50)
    .option("--json", "print JSON", false);
}

async function listSessions({ limit, ...flags }: ListFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const { sessions } = await client.call("GET /api/sessions", { limit });
  if (flags.json) return printJson(io, sessions);
  const rows = sessions.map(({ key, entries, updatedAt }) => [key, entries, updatedAt]);
  print(io, ...(rows.length === 0 ? ["There are no sessions."] : formatTable(["key", "entries", "updated"], rows)));
}

async function showSession(key: string, { limit, ...flags }: ListFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const session = await client.call("GET /api/sessions/:key*", { id: key, limit });
  if (flags.json) return printJson(io, session);
  const { entries } = session;
  print(io, ...(entries.length === 0 ? [`The session ${key} is empty.`] : entries.flatMap(formatEntry)));
}

function formatEntry({ role, at, text }: OperatorAnswers["GET /api/sessions/:key*"]["entries"][number]): string[] {
  return [
    `${style("bold", role)}  ${style("dim", at)}`,
    ...toPrintable(text)
      .split("\n")
      .map((line) => `  ${line}`),
    "",
  ];
}

async function releaseRuns({ reason, json, ...flags }: ServiceFlags & { reason?: string; json: boolean }, io: CliIo) {
  const client = await createOperatorClient(flags, io);
  const { released } = await client.call("POST /api/runs/release", { reason });
  if (json) printJson(io, { released });
  else print(io, released === 0 ? "No run is held." : `${formatCount(released, "run")} released.`);
}

async function listRuns(flags: ListFlags & { state?: string }, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const { runs } = await client.call("GET /api/runs", { limit: flags.limit, state: flags.state });
  if (flags.json) return printJson(io, runs);
  const short = shortenIds(runs.flatMap(({ eventId }) => eventId ?? []));
  const rows = runs.map(({ eventId, createdAt, state, hook, kind, sessionKey, reply, error, holdReason }) => [
    createdAt,
    eventId && short(eventId),
    state,
    hook ?? kind,
    sessionKey,
    reply ?? error ?? holdReason,
  ]);
  const names = ["created", "event", "state", "hook", "session", "reply"];
  print(io, ...(rows.length === 0 ? ["There are no runs."] : formatTable(names, rows)));
}
