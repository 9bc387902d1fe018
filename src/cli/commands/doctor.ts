import { toCommand, toWord } from "../../core/shared/text/command.ts";
import type { Command } from "commander";
import path from "node:path";
import { listApiAccesses, listEvents, toHook, toHookUrl } from "../../core/config/presets/api-access.ts";
import {
  DEFAULT_TOKEN,
  type MappingSource,
  type PresetUse,
  type ResolvedConfig,
} from "../../core/config/resolved-config.ts";
import { readConfig } from "../../service/drivers.ts";
import { type ConfigProblem, messageOf } from "../../core/errors.ts";
import { showHookId } from "../../vendors/kit/subscriptions.ts";
import type { AuthorityRow } from "../../core/ports/authority.ts";
import { toText } from "../../core/shared/json.ts";
import type { HookApi } from "../../core/ports/vendor.ts";
import { isLoopback } from "../../core/shared/net/network.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { addConfigOptions, type ConfigFlags, EXIT_CODES } from "../command.ts";
import { locateConfig, tryRuntime } from "../context.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import { type Configured, connectStored, findRegistrar, type Registrar } from "../setup/sender.ts";
import { checkPrograms } from "./agents.ts";
import { findAuthority, formatAuthority } from "./check.ts";
import {
  checkDisk,
  checkCopies,
  checkJournal,
  checkRemote,
  type CheckResult,
  checkSandbox,
  checkStateFolder,
  checkWatcher,
  note,
  ok,
  problem,
} from "./doctor-machine.ts";
import { checkSkippedPlaces } from "./doctor-places.ts";
import { checkTools } from "./doctor-tools.ts";
import { checkWorkspaces } from "./doctor-workspaces.ts";
import type { ToolSets } from "../../core/ports/open-tool-sets.ts";

export function addDoctor(program: Command, io: CliIo): void {
  addConfigOptions(program.command("doctor"), "print one JSON object: ok, checks, authority")
    .summary("Check configuration and machine before the service is deployed.")
    .description(
      "Check configuration and machine before the service is deployed: the problems and warnings of `npx hookline check`, who " +
        "can reach it, secrets, unsafe content, state folder, journal, disk, file watcher, sandbox, workspaces, database and clock, the webhooks of presets at their senders, and the tools of MCP servers. Exits 1 on a problem.",
    )
    .action((flags: ConfigFlags) => diagnose(flags, io));
}

async function diagnose({ config: flag, json }: ConfigFlags, io: CliIo): Promise<void> {
  const file = locateConfig(flag, io);
  // One that cannot be parsed, or does not fit its schema, is undefined.
  const read = await readConfig(file, io.env).catch(() => undefined);
  const config = read?.config;
  const { results, authority, tools } = await checkConfiguration(file, config, io);
  const checks = [
    // An older Node does not get as far as this.
    ok("node", process.version),
    ...results,
    ...(config ? [checkStateFolder(config.store.path), checkDisk(config.store.path)] : []),
    ...(config && !config.store.postgres ? [checkJournal(config.store.path), ...checkCopies(config.store.path)] : []),
    await checkWatcher(path.dirname(file)),
    await checkSandbox(),
    ...(config ? [...(await checkPrograms(config)), ...(await checkWorkspaces(config))] : []),
    ...(read
      ? (await Promise.all([checkRemote(read.config), checkSenders(read), checkSkippedPlaces(read.config)])).flat()
      : []),
    ...(tools ? await checkTools(tools) : []),
  ];
  const problems = checks.filter(({ level }) => level === "problem");
  if (problems.length > 0) io.exitCode = EXIT_CODES.failed;
  if (json) return printJson(io, { ok: problems.length === 0, checks, authority });
  print(
    io,
    ...formatResults(checks),
    ...formatAuthority(authority, io),
    "",
    problems.length === 0 ? "No problems." : formatCount(problems.length, "problem") + ".",
  );
}

const MARKS = { ok: style("green", "✓"), note: style("dim", "–"), problem: style("red", "✗") };

function formatResults(checks: CheckResult[]): string[] {
  // The key of a problem is too long for a column.
  const width = Math.max(...checks.map(({ name, level }) => (level === "problem" ? 0 : name.length))) + 2;
  return checks.flatMap(({ name, level, message, next }) => {
    const head = level === "problem" ? `${name}: ` : name.padEnd(width);
    const line = `${MARKS[level]} ${head}${toPrintable(message)}`;
    return next === undefined ? [line] : [line, style("dim", `  → ${next}`)];
  });
}

/** Problems of loading, then those that only matter to a service that others can reach. */
async function checkConfiguration(
  file: string,
  config: ResolvedConfig | undefined,
  io: CliIo,
): Promise<{ results: CheckResult[]; authority?: AuthorityRow[]; tools?: ToolSets }> {
  const { runtime, problems } = await tryRuntime(file, io);
  const found = [...problems, ...(runtime?.warnings ?? [])].map(toResult);
  if (!config) return { results: found };
  const isFine = ok("configuration", `${file}, ${formatCount(config.hooks.mappings.length, "mapping")}`);
  const results = found.length > 0 ? found : [isFine];
  const own = [...checkGateway(config), ...checkSecrets(config), ...checkContent(config)];
  return { results: [...results, ...own], authority: findAuthority(runtime), tools: runtime?.tools };
}

function toResult({ file, line, column, key, message }: ConfigProblem): CheckResult {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  return problem(key ?? "configuration", message, adviseOn(key ?? "", message) ?? `edit ${place}`);
}

function adviseOn(key: string, message: string): string | undefined {
  if (/could be guessed/.test(message)) {
    if (/^hooks\.token(\[|$)/.test(key)) return toCommand("token rotate", DEFAULT_TOKEN);
    const name = /^hooks\.tokens\.([\w-]+)\.secret/.exec(key)?.[1];
    return name && toCommand("token rotate", name);
  }
  const program = /Install the package (\w+)/.exec(message)?.[1];
  if (program !== undefined) return `install ${program} with the package manager of this system`;
  const variable = /^The environment variable (\w+) is not set/.exec(message)?.[1];
  return variable && `export ${variable}=… where the service starts, or refer to a file: \${file:PATH}`;
}

function checkGateway({ gateway: { host, trustedProxies, publicUrl } }: ResolvedConfig): CheckResult[] {
  const results: CheckResult[] = [];
  if (!isLoopback(host) && trustedProxies.length === 0) {
    const next =
      'set gateway.host to "127.0.0.1" and put a proxy with TLS in front, or list the proxy in gateway.trustedProxies';
    results.push(
      problem("gateway.host", `${host} is open to other machines, without TLS and without a known proxy`, next),
    );
  }
  if (publicUrl?.startsWith("http:") && !isLoopback(new URL(publicUrl).hostname)) {
    const message = `${publicUrl} is not encrypted: tokens and payloads can be read on their way`;
    results.push(problem("gateway.publicUrl", message, "put a proxy with TLS in front, and set its https: address"));
  }
  return results.length > 0
    ? results
    : [ok("gateway", `${host}${trustedProxies.length > 0 ? ", behind a proxy" : ""}`)];
}

/** Who knows one sender's secret must not be able to sign as another. Loading compares them with the tokens. */
function checkSecrets({ hooks: { mappings } }: ResolvedConfig): CheckResult[] {
  const owners = new Map<string, string>();
  // By what is said: each mapping of a preset brings the preset's secret.
  const shared = new Map<string, CheckResult>();
  for (const source of mappings) {
    for (const secret of [source.mapping.auth?.["secret"] ?? []].flat()) {
      const text = toText(secret).trim();
      const owner = owners.get(text) ?? ownerOf(source);
      owners.set(text, owner);
      if (owner === ownerOf(source)) continue;
      const message = `${ownerOf(source)} has the same secret as ${owner}`;
      const next = "give each sender its own secret";
      shared.set(message, problem(keyOf(source, "auth.secret"), message, next));
    }
  }
  return shared.size > 0 ? [...shared.values()] : [ok("secrets", "each sender has its own")];
}

/** The mappings of one use of a preset have one sender. */
function ownerOf({ id, preset, mapping: { match } }: MappingSource): string {
  return preset === undefined ? `the mapping ${id}` : `the preset ${preset} at /${match?.path}`;
}

/** The mappings of a preset are not in the configuration. */
function keyOf({ key, preset }: MappingSource, field: string): string {
  return preset === undefined ? `${key}.${field}` : `preset ${preset}`;
}

function checkContent({ hooks: { mappings } }: ResolvedConfig): CheckResult[] {
  const unsafe = mappings.filter(({ mapping }) => mapping.allowUnsafeExternalContent);
  const next = "remove it, unless every sender of this hook may instruct the agent";
  const message = "the agent reads the payload's text as instructions, outside the safety boundary";
  if (unsafe.length > 0) {
    return unsafe.map((source) => problem(keyOf(source, "allowUnsafeExternalContent"), message, next));
  }
  return [ok("content", "untrusted text reaches agents inside the safety boundary")];
}

const ANSWER_MS = 5000;

/** Whether the webhooks of presets exist at their senders, lead here and work. All are asked side by side. */
async function checkSenders(read: Configured): Promise<CheckResult[]> {
  return (await Promise.all(read.config.hooks.presets.map((use) => checkSender(use, read)))).flat();
}

async function checkSender(use: PresetUse, read: Configured): Promise<CheckResult[]> {
  const vendor = findRegistrar(use.name, read.drivers.vendors);
  if (!vendor) return [];
  const name = `preset ${toHook(use)}`;
  const places = connectStored(use, read, ANSWER_MS);
  if (listApiAccesses(use, read.config).length === 0) return [note(name, "not checked: with.place names no place")];
  if (places.length === 0) return [note(name, `not checked: no token of ${vendor.service}'s API is stored`)];
  const url = toHookUrl(use, read.config);
  if (url === undefined) return [note(name, "not checked: gateway.publicUrl is not set")];
  const checks = places.map(({ hooks, place }) => {
    const at = places.length > 1 ? { name: `${name} (${place})`, place } : { name };
    return checkPlace(use, hooks, { vendor, url, ...at });
  });
  return (await Promise.all(checks)).flat();
}

/** `place`: one of several. */
async function checkPlace(
  use: PresetUse,
  hooks: HookApi,
  { vendor, url, name, place }: { vendor: Registrar; url: string; name: string; place?: string },
): Promise<CheckResult[]> {
  try {
    const [id, ...others] = await hooks.find(url);
    const register = `${toCommand("presets enable", use.written)} --register${place === undefined ? "" : ` --place ${toWord(place)}`}`;
    if (id === undefined) return [problem(name, `${vendor.service} has no webhook that posts to ${url}`, register)];
    const { isEnabled, notes } = await hooks.health(id, listEvents(use));
    const found = notes.map((text) => `; ${toPrintable(text)}`).join("");
    const twice = others.map((other) =>
      problem(name, `${vendor.service} has another webhook (${showHookId(other)}) that posts to ${url}`, register),
    );
    if (!isEnabled) {
      const next = `find out what it refused with \`npx hookline rejections\`, then ${register}`;
      return [problem(name, `${vendor.service} has disabled the webhook ${showHookId(id)}${found}`, next), ...twice];
    }
    if (notes.length > 0) return [note(name, `${vendor.service} posts to ${url}${found}`), ...twice];
    return [ok(name, `${vendor.service} posts to ${url}`), ...twice];
  } catch (error) {
    // A sender that is away is no fault of this machine.
    return [note(name, `not checked: ${toPrintable(messageOf(error))}`)];
  }
}
