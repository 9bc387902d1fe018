import { toCommand } from "../../core/shared/text/command.ts";
import type { Command } from "commander";
import { ConfigError, DriverError } from "../../core/errors.ts";
import { openDrivers } from "../../service/runtime/open-drivers.ts";
import { createId } from "../../core/shared/id.ts";
import { parseJson } from "../../core/shared/json.ts";
import { silentLog, toPrintable } from "../../core/telemetry/log.ts";
import type { OpenCall, ToolSets } from "../../core/ports/open-tool-sets.ts";
import { hashCall, lockFile, writeLockedCalls } from "../../agents/tools/lock.ts";
import type { CallDescription } from "../../core/ports/tool-set.ts";
import { addConfigOptions, type ConfigFlags, EXIT_CODES, UsageError } from "../command.ts";
import { loadConfig } from "../context.ts";
import { withPeriod } from "../../core/shared/text/text.ts";
import { formatTable } from "../format.ts";
import { type CliIo, print, printError, printJson } from "../io.ts";

export function addTools(program: Command, io: CliIo): void {
  const tools = program.command("tools").description("Look at the tool sets of agents.tools, and try their calls.");
  const add = (name: string, description: string): Command =>
    addConfigOptions(tools.command(name).description(description));
  add("list", "List every call of every tool set.").action((flags: ConfigFlags) =>
    withTools(flags, io, (sets) => listCalls(sets, flags, io)),
  );
  add("show", "Show a call and the JSON Schema of its arguments.")
    .argument("<call>", "<set>.<call>")
    .action((name: string, flags: ConfigFlags) =>
      withTools(flags, io, (sets) => showCall(requireCall(sets, name), flags, io)),
    );
  add("call", "Execute a call, without a model, and print its result.")
    .argument("<call>", "<set>.<call>")
    .option("--arguments <json>", "its arguments, a JSON object", "{}")
    .action((name: string, flags: ConfigFlags & { arguments: string }) =>
      withTools(flags, io, (sets) => executeCall(requireCall(sets, name), flags, io)),
    );
  add("accept", "Print what the server of a set offers, and write it to tools.lock.json: only that can be granted.")
    .argument("<set>", "a set whose calls come from a server")
    .action((name: string, flags: ConfigFlags) =>
      withTools(flags, io, (sets, dir) => acceptCalls(sets, name, { ...flags, dir, io })),
    );
}

async function withTools(
  flags: ConfigFlags,
  io: CliIo,
  use: (sets: ToolSets, baseDir: string) => Promise<void> | void,
): Promise<void> {
  const read = await loadConfig(flags.config, io);
  const { tools, agent, problems } = await openDrivers(read, { log: silentLog });
  try {
    const mine = [...read.problems, ...problems].filter(({ key }) => key?.startsWith("agents.tools"));
    if (mine.length > 0) throw new ConfigError(mine);
    await use(tools, read.config.baseDir);
  } finally {
    tools.close();
    agent.close?.();
  }
}

function requireCall(sets: ToolSets, name: string): OpenCall {
  const call = sets.find(name);
  if (call) return call;
  throw new ConfigError([{ message: sets.explainMissing(name) }]);
}

const ACCEPT_MS = 60_000;

async function acceptCalls(
  { sets, explainMissing }: ToolSets,
  name: string,
  { json, dir, io }: ConfigFlags & { dir: string; io: CliIo },
): Promise<void> {
  const set = sets.get(name);
  if (!set) throw new ConfigError([{ message: explainMissing(name) }]);
  const message = `The calls of "${name}" are in the configuration, so there is nothing to accept.`;
  if (!set.discover) throw new ConfigError([{ message }]);
  const signal = AbortSignal.any([io.stopSignal(), AbortSignal.timeout(ACCEPT_MS)]);
  const offered = await set.discover(signal).catch((error: unknown) => {
    throw error instanceof DriverError ? new ConfigError([{ message: error.message }]) : error;
  });
  const accepted = new Map(set.calls.map((call) => [call.name, hashCall(call)]));
  const stateOf = (call: CallDescription): string =>
    !accepted.has(call.name) ? "new" : accepted.get(call.name) === hashCall(call) ? "same" : "changed";
  const names = new Set([...offered.calls, ...offered.leftOut].map((call) => call.name));
  const removed = [...accepted.keys()].filter((known) => !names.has(known));
  writeLockedCalls(dir, name, offered);
  const calls = offered.calls.map((call) => ({ ...call, state: stateOf(call) }));
  const { leftOut } = offered;
  if (json) return printJson(io, { set: name, file: lockFile(dir), calls, leftOut, removed });
  for (const { name: call, state, description, input } of calls) {
    print(io, ...[`${name}.${call} (${state})`, description, JSON.stringify(input), ""].map(toPrintable));
  }
  print(io, ...leftOut.map((call) => toPrintable(describeLeftOut(`${name}.${call.name}`, call.reason))));
  for (const call of removed) print(io, `${toPrintable(`${name}.${call}`)} (no longer offered)`);
  print(io, `Written to ${lockFile(dir)}: commit it with the configuration.`);
}

function describeLeftOut(fullName: string, reason: string): string {
  return `${fullName} is left out: ${withPeriod(reason)}`;
}

function listCalls(sets: ToolSets, { json }: ConfigFlags, io: CliIo): void {
  const calls = sets.list().map(({ fullName, audience, description }) => ({ call: fullName, audience, description }));
  const leftOut = Array.from(sets.leftOut, ([call, reason]) => ({ call, reason }));
  if (json) return printJson(io, { calls, leftOut });
  const unknown = [...sets.sets].filter(([, set]) => set.calls.length === 0 && set.leftOut.length === 0);
  const empty = unknown.map(([name]) => name);
  const rows = calls.map(({ call, audience, description }) => ({
    CALL: call,
    AUDIENCE: audience,
    DESCRIPTION: description,
  }));
  print(io, ...formatTable(rows, "No calls: add a tool set to agents.tools."));
  print(io, ...leftOut.map(({ call, reason }) => toPrintable(describeLeftOut(call, reason))));
  for (const name of empty) print(io, `No call of "${name}" is accepted yet: ${toCommand("tools accept", name)}`);
}

function showCall({ fullName, description, input, audience }: OpenCall, { json }: ConfigFlags, io: CliIo): void {
  if (json) return printJson(io, { call: fullName, audience, description, input });
  const schema = JSON.stringify(input, undefined, 2);
  print(io, ...[fullName, description, `audience: ${audience}`, schema].map(toPrintable));
}

async function executeCall(
  call: OpenCall,
  { arguments: written, json }: ConfigFlags & { arguments: string },
  io: CliIo,
): Promise<void> {
  const args = parseJson(written);
  if (args === undefined) throw new UsageError("--arguments must be a JSON object.");
  const result = call.call(args, { signal: io.stopSignal(), callId: createId() });
  const { text, isError } = await result.catch((error: unknown) => {
    if (error instanceof DriverError) return { text: error.message, isError: true };
    throw error;
  });
  if (isError) io.exitCode = EXIT_CODES.failed;
  if (json) return printJson(io, { ok: !isError, call: call.fullName, [isError ? "error" : "text"]: text });
  if (isError) printError(io, toPrintable(text));
  else print(io, toPrintable(text));
}
