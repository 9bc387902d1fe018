import type { Command } from "commander";
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";
import { toHook } from "../../core/config/presets/api-access.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { ConfigError, type ConfigProblem, messageOf, toSentence } from "../../core/errors.ts";
import { INBOX_PARTS, type InboxPart } from "../../operator/inbox/item.ts";
import { type StatusView, toScheduleViews } from "../../operator/status.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { type AuthorityRow, describeAuthority } from "../../core/ports/authority.ts";
import { listAuthority } from "../../service/runtime/authority.ts";
import { parseObject, readPath } from "../../core/shared/json.ts";
import { tryFolder } from "../../core/shared/system/files.ts";
import { trimSlashes } from "../../core/shared/text/text.ts";
import { toCommand } from "../../core/shared/text/command.ts";
import { toScheduleHook } from "../../core/types.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { addConfigOptions, addServiceOptions, type ConfigFlags, EXIT_CODES } from "../command.ts";
import { describePrograms } from "./agents.ts";
import { askPooler } from "./doctor-machine.ts";
import { listConfigFiles } from "../../service/authoring/target.ts";
import { locateConfig, tryRuntime } from "../context.ts";
import { formatCount, formatDuration, formatFacts, formatModule } from "../format.ts";
import { findCompilerOptions } from "../setup/editor-files.ts";
import { listTransformFolders } from "../setup/module-types.ts";
import { findStaleTypes } from "../setup/types.ts";
import { type CliIo, print, printError, printJson, printWarnings, style, wrapWords } from "../io.ts";
import { addAnswer, type OperatorClient } from "../operator-client.ts";

export function addCheck(program: Command, io: CliIo): void {
  addConfigOptions(
    program.command("check"),
    "print one JSON object: ok, file, files, mappings, modelCalls, schedules, modules, authority, problems, warnings",
  )
    .description("Load and compile the configuration, and print all problems. Exits 1 if there is one.")
    .option("--strict", "exit 1 on a warning too", false)
    .option(
      "--types",
      "check the types of the transforms too, with the project's own TypeScript, and that hookline.d.ts is current",
      false,
    )
    .action((flags: CheckFlags) => check(flags, io));
}

interface CheckFlags extends ConfigFlags {
  strict: boolean;
  types: boolean;
}

async function check(flags: CheckFlags, io: CliIo): Promise<void> {
  const { runtime, problems } = await tryRuntime(flags.config, io);
  const { config } = runtime ?? {};
  const warnings = [...(runtime?.warnings ?? []), ...(config ? await checkPooler(config) : [])];
  if (config && flags.types) {
    warnings.push(...findStaleTypes(config));
    problems.push(...(await checkTypes(config)));
  }
  if (config) problems.push(...checkStateFolder(config));
  const mappings = config?.hooks.mappings.map(({ id }) => id) ?? [];
  const isOk = problems.length === 0 && !(flags.strict && warnings.length > 0);
  if (!isOk) io.exitCode = EXIT_CODES.failed;
  if (flags.json) {
    const modelCalls = config && countModelCalls(config);
    const authority = findAuthority(runtime);
    const schedules = config && toScheduleViews(config, Date.now());
    const files = listConfigFiles(locateConfig(flags.config, io), io.env);
    const found = { modelCalls, schedules, modules: runtime?.modules, authority, problems, warnings };
    return printJson(io, { ok: isOk, file: config?.file, files, mappings, ...found });
  }
  printWarnings(io, warnings.map(toSentence));
  if (problems.length > 0) throw new ConfigError(problems);
  if (isOk && config) {
    // Each mapping is named once: where its calls of models are.
    const calls = describeModelCalls(config);
    const names = calls.length > 0 || mappings.length === 0 ? "" : `: ${mappings.join(", ")}`;
    print(io, ...wrapWords(io, `${config.file} is valid (${formatCount(mappings.length, "mapping")}${names})`, "  "));
    const schedules = toScheduleViews(config, Date.now()).map((schedule) => `schedule: ${describeSchedule(schedule)}`);
    const modules = runtime?.modules.map((cost) => toPrintable(`transform: ${formatModule(cost)}`)) ?? [];
    const facts = [...describeParts(config), ...calls, ...describePrograms(config), ...schedules, ...modules];
    print(io, ...facts.flatMap((fact) => wrapWords(io, fact, "  ")), ...formatAuthority(findAuthority(runtime), io));
  } else printError(io, `${formatCount(warnings.length, "warning")}, which --strict does not allow.`);
}

/** The hooks of each file of a configuration with parts. */
function describeParts({ file = "", baseDir, parts, hooks }: ResolvedConfig): string[] {
  if (parts.length === 0) return [];
  return [file, ...parts].map((part) => {
    const mappings = hooks.mappings.filter((source) => source.file === part);
    const own = mappings.map(({ id, mapping }) =>
      mapping.schedule ? toScheduleHook(id) : (mapping.match?.path ?? "any hook"),
    );
    const uses = hooks.presets.filter((use) => use.file === part).map(toHook);
    const names = new Set([...own.map(trimSlashes), ...uses]);
    return toPrintable(`hooks of ${path.relative(baseDir, part)}: ${[...names].join(", ") || "none"}`);
  });
}

/** Says nothing about a database that does not answer: `doctor` does. */
async function checkPooler({ store, file }: ResolvedConfig): Promise<ConfigProblem[]> {
  const found = store.postgres && (await askPooler(store.postgres));
  if (!found) return [];
  return [{ message: `${found.message}; ${found.next}.`, file, key: "store.leaseUrl" }];
}

/** Nodes with a database need no state folder. */
function checkStateFolder({ store, file }: ResolvedConfig): ConfigProblem[] {
  if (store.postgres) return [];
  try {
    tryFolder(store.path);
    return [];
  } catch (error) {
    const message = `The state folder ${store.path} cannot be created or written to (${messageOf(error)}). Set another folder, or give this user the right to write there.`;
    return [{ message, file, key: "store.path" }];
  }
}

const MAX_OUTPUT = 16 * 1024 * 1024;

/** Checks the types of the transforms with the TypeScript that is installed in the project. */
async function checkTypes(config: ResolvedConfig): Promise<ConfigProblem[]> {
  const { baseDir, hooks } = config;
  const compiler = findCompiler(baseDir);
  if (compiler === undefined) {
    const message = `There is no TypeScript in ${baseDir}, which --types needs: npm install --save-dev typescript`;
    return [{ message }];
  }
  const known = listTransformFolders(config);
  const folders = known.length > 0 ? known : [hooks.transformsDir];
  const projects = folders.map((folder) => findCompilerOptions(folder, config));
  const missing = folders.find((_, index) => projects[index] === undefined);
  if (missing !== undefined) {
    const command = toCommand(existsSync(missing) ? "types" : "init");
    return [{ message: `There is no tsconfig.json in ${missing}: \`${command}\` writes one.` }];
  }
  const problems: ConfigProblem[] = [];
  for (const project of new Set(projects))
    if (project !== undefined) problems.push(...(await compile(compiler, project)));
  return problems;
}

async function compile(compiler: string, project: string): Promise<ConfigProblem[]> {
  const cwd = path.dirname(project);
  const args = [compiler, "-p", project, "--noEmit", "--pretty", "false"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, maxBuffer: MAX_OUTPUT }).catch(
    (error: Error & { stdout: string; stderr: string }) => {
      // Problems in the code: it exits with 1 or 2.
      if (error.stdout !== "") return error;
      throw new Error(`TypeScript failed: ${error.stderr || error.message}`, { cause: error });
    },
  );
  return toProblems(stdout, cwd);
}

function findCompiler(projectDir: string): string | undefined {
  try {
    const manifest = createRequire(path.join(projectDir, "x.js")).resolve("typescript/package.json");
    const bin = readPath(parseObject(readFileSync(manifest, "utf8")), ["bin", "tsc"]);
    return typeof bin === "string" ? path.join(path.dirname(manifest), bin) : undefined;
  } catch {
    return undefined;
  }
}

/** `ci.ts(2,3): error TS2322: …`, with further lines indented. */
function toProblems(output: string, baseDir: string): ConfigProblem[] {
  return [...output.matchAll(/^(?:(\S.*?)\((\d+),(\d+)\): )?error (TS\d+: .*(?:\n {2}.*)*)$/gm)].map(
    ([, file, line, column, message = ""]) => ({
      message,
      ...(file !== undefined && { file: path.resolve(baseDir, file), line: Number(line), column: Number(column) }),
    }),
  );
}

export function addStatus(program: Command, io: CliIo): void {
  const status = program
    .command("status")
    .description(
      "Show whether the running service works: configuration, queue, sandbox, mailboxes. Exit 1 if something is wrong.",
    );
  addAnswer(addServiceOptions(status), io, (client) => askStatus(client, io), formatStatus);
}

export function addReload(program: Command, io: CliIo): void {
  const reload = program
    .command("reload")
    .description("Load the configuration again, and show what the running service uses now. Exit 1 if it was refused.");
  addAnswer(
    addServiceOptions(reload),
    io,
    (client) => client.call("POST /api/reload"),
    ({ config: { file, generation, mappings, warnings } }) => [
      `Loaded ${file ?? "the configuration"}: generation ${generation}, ${formatCount(mappings.length, "mapping")}.`,
      ...warnings.map((warning) => `warning: ${warning}`),
    ],
  );
}

/** With whether `/readyz` says so, and how many items of each part of the inbox are open. */
type StatusAnswer = StatusView & { ready: boolean; inbox: Partial<Record<InboxPart, number>> };

async function askStatus(client: OperatorClient, io: CliIo): Promise<StatusAnswer> {
  const [status, { items }, { ok: ready }] = await Promise.all([
    client.call("GET /api/status"),
    client.call("GET /api/inbox"),
    client.send("GET", "/readyz"),
  ]);
  if (findProblems(status).length > 0 || !ready) io.exitCode = EXIT_CODES.failed;
  const parts = Map.groupBy(items, ({ part }) => part);
  return {
    ...status,
    ready,
    inbox: Object.fromEntries(Array.from(parts, ([part, own]) => [part, own.length])),
  };
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

const NOT_READY = "not ready: hooks may be answered 503. See the log, and: npx hookline doctor";

function formatStatus({ inbox, ready, ...status }: StatusAnswer): string[] {
  const { version, startedAt, config, queue, sandbox, mail, budget, nodes = [] } = status;
  const { events, pendingRuns, pendingDeliveries, pendingSystemEvents } = queue;
  const mappings = formatCount(config.mappings.length, "mapping");
  const runs = formatCount(pendingRuns, "run");
  const deliveries = formatCount(pendingDeliveries, "delivery", "deliveries");
  const systemEvents = formatCount(pendingSystemEvents, "system event");
  const failures = formatCount(sandbox.failures, "failure");
  const facts: [string, string | undefined][] = [
    ["service", `Hookline ${version}, since ${startedAt}`],
    ["config", `${config.file ?? "of a program"}, ${mappings}, generation ${config.generation} of ${config.at}`],
    ["queue", `${formatCount(events, "event")}; ${runs}, ${deliveries} and ${systemEvents} waiting`],
    ["sandbox", `${sandbox.ready ? "ready" : "not ready"}, ${formatCount(sandbox.calls, "call")}, ${failures}`],
    ["budget", budget && describeBudget(budget)],
    ["inbox", describeInbox(inbox)],
    ...status.schedules.map((schedule): [string, string] => ["schedule", describeSchedule(schedule)]),
    ...mail.map(({ mailbox, state }): [string, string] => ["mail", `${mailbox} ${state}`]),
    ...nodes.map((node): [string, string] => ["node", describeNode(node)]),
  ];
  const problems = findProblems(status);
  if (!ready && problems.length === 0) problems.push(NOT_READY);
  return [
    ...formatFacts(facts),
    ...config.warnings.map((warning) => style("yellow", `warning: ${toPrintable(warning)}`)),
    ...problems.map((problem) => style("red", toPrintable(problem))),
  ];
}

/** `2 decide, 1 failed`. */
function describeInbox(inbox: StatusAnswer["inbox"]): string {
  const parts = INBOX_PARTS.flatMap((part) => (part !== "left" && inbox[part] ? [`${inbox[part]} ${part}`] : []));
  return parts.join(", ") || "nothing waits for you";
}

export function describeSchedule({ hook, local }: StatusView["schedules"][number]): string {
  return `${toPrintable(hook)} next at ${local}`;
}

function describeNode({ id, role, host, version, config, seenAt, isAlive }: Node): string {
  const state = isAlive ? "" : ", gone";
  return `${id} ${role} on ${host}, ${version}, config ${config}, last contact ${seenAt}${state}`;
}

type Node = NonNullable<StatusView["nodes"]>[number];

function describeBudget(budget: NonNullable<StatusView["budget"]>): string {
  const { unit, currency = unit, perDay, spentToday, heldRuns } = budget;
  const limit = perDay === undefined ? "" : ` of ${perDay}`;
  return `${spentToday}${limit} ${currency} today, ${formatCount(heldRuns, "run")} held`;
}

/** A row for each credential. Undefined if the configuration cannot be used. */
export function findAuthority(runtime: Runtime | undefined): AuthorityRow[] | undefined {
  return runtime && listAuthority(runtime);
}

export function formatAuthority(rows: AuthorityRow[] = [], io: Pick<CliIo, "stdout" | "env">): string[] {
  if (rows.length === 0) return [];
  const lines = describeAuthority(rows).map(toPrintable);
  // The second column: names stand before it.
  const indent = " ".repeat(Math.max(...lines.map((line) => line.search(/\S/))));
  return ["", ...lines.flatMap((line) => wrapWords(io, line, indent))];
}

/** The calls of models for one event of a mapping. */
interface ModelCalls {
  mapping: string;
  /** Turns of the agent; with `forEach`, of each item. */
  turns: 0 | 1;
  perItem: boolean;
  /** now: a heartbeat, which all events of the join window share. later: it is part of the next periodic one. */
  heartbeat: "now" | "later";
}

/** By mapping, as far as the configuration says it: a transform may return other actions. */
function countModelCalls({ hooks }: Pick<ResolvedConfig, "hooks">): ModelCalls[] {
  return hooks.mappings.map(({ id, mapping: { action, agent, forEach, wakeMode } }) => ({
    mapping: id,
    turns: action === "wake" || agent === "none" ? 0 : 1,
    perItem: forEach !== undefined,
    // A template may say either.
    heartbeat: wakeMode === "next-heartbeat" ? "later" : "now",
  }));
}

/** A line for all mappings that cost the same. Nothing without a provider: `echo` costs nothing. */
export function describeModelCalls({ hooks, agents }: Pick<ResolvedConfig, "hooks" | "agents">): string[] {
  if (Object.keys(agents.providers).length === 0) return [];
  const { joinMs } = agents.heartbeat;
  const groups = Map.groupBy(countModelCalls({ hooks }), (calls) => describe(calls, joinMs));
  return [...groups].map(
    ([cost, mappings]) => `model calls of an event: ${cost} (${mappings.map(({ mapping }) => mapping).join(", ")})`,
  );
}

function describe({ turns, perItem, heartbeat }: ModelCalls, joinMs: number): string {
  const turn = turns === 0 ? [] : [perItem ? "1 for each item" : "1"];
  const shared = joinMs === 0 ? "" : `, which all within ${joinMs / 1000} s share`;
  const told = heartbeat === "now" ? [`1 for the heartbeat${shared}`] : [];
  return [...turn, ...told].join(", ") || "none by itself";
}
