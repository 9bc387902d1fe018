import type { Command } from "commander";
import path from "node:path";
import { readConfig } from "../../drivers.ts";
import { DEFAULT_TOKEN, type MappingSource, type ResolvedConfig } from "../../config/types.ts";
import type { ConfigProblem } from "../../errors.ts";
import { toText } from "../../shared/json.ts";
import { isLoopback } from "../../shared/network.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { EXIT_CODES, CONFIG_HELP } from "../command.ts";
import { locateConfig, tryRuntime } from "../context.ts";
import { formatCount } from "../format.ts";
import type { GrantRow } from "../../runtime/grants.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import { findGrants, formatGrants } from "./grants.ts";
import {
  checkDisk,
  checkJournal,
  checkRemote,
  type CheckResult,
  checkSandbox,
  checkStateFolder,
  checkWatcher,
  ok,
  problem,
} from "./doctor-machine.ts";
import { checkSenders } from "./doctor-senders.ts";

export function addDoctor(program: Command, io: CliIo): void {
  program
    .command("doctor")
    .summary("Check configuration and machine before the service is deployed.")
    .description(
      "Check configuration and machine before the service is deployed: the problems and warnings of `webhooks check`, who " +
        "can reach it, secrets, unsafe content, state folder, journal, disk, file watcher, sandbox, database and clock, and the webhooks of presets at their senders. Exits 1 on a problem.",
    )
    .option("--config <file>", CONFIG_HELP)
    .option("--json", "print one JSON object: ok, checks, grants", false)
    .action((flags: { config?: string; json: boolean }) => diagnose(flags, io));
}

async function diagnose({ config: flag, json }: { config?: string; json: boolean }, io: CliIo): Promise<void> {
  const file = locateConfig(flag, io);
  // One that cannot be parsed, or does not fit its schema, is undefined.
  const { config } = (await readConfig(file, io.env).catch(() => undefined)) ?? {};
  const { results, grants } = await checkConfiguration(file, config, io);
  const checks = [
    // An older Node does not get as far as this.
    ok("node", process.version),
    ...results,
    ...(config ? [checkStateFolder(config.store.path), checkDisk(config.store.path)] : []),
    ...(config && !config.store.postgres ? [checkJournal(config.store.path)] : []),
    checkWatcher(path.dirname(file)),
    await checkSandbox(),
    ...(config ? (await Promise.all([checkRemote(config), checkSenders(config)])).flat() : []),
  ];
  const problems = checks.filter(({ level }) => level === "problem");
  if (problems.length > 0) io.exitCode = EXIT_CODES.failed;
  if (json) return printJson(io, { ok: problems.length === 0, checks, grants });
  print(
    io,
    ...checks.flatMap(formatResult),
    ...formatGrants(grants),
    "",
    problems.length === 0 ? "No problems." : formatCount(problems.length, "problem") + ".",
  );
}

const MARKS = { ok: style("green", "✓"), note: style("dim", "–"), problem: style("red", "✗") };
const WIDTH = 14;

function formatResult({ name, level, message, next }: CheckResult): string[] {
  // The key of a problem is too long for a column.
  const head = level === "problem" ? `${name}: ` : `${name.padEnd(WIDTH)} `;
  const line = `${MARKS[level]} ${head}${toPrintable(message)}`;
  return next === undefined ? [line] : [line, style("dim", `  → ${next}`)];
}

/** What loading finds, then what only matters to a service that others can reach. */
async function checkConfiguration(
  file: string,
  config: ResolvedConfig | undefined,
  io: CliIo,
): Promise<{ results: CheckResult[]; grants?: GrantRow[] }> {
  const { runtime, problems } = await tryRuntime(file, io);
  const found = [...problems, ...(runtime?.warnings ?? [])].map(toResult);
  if (!config) return { results: found };
  const isFine = ok("configuration", `${file}, ${formatCount(config.hooks.mappings.length, "mapping")}`);
  const results = found.length > 0 ? found : [isFine];
  const own = [...checkGateway(config), ...checkSecrets(config), ...checkContent(config)];
  return { results: [...results, ...own], grants: findGrants(runtime) };
}

function toResult({ file, line, column, key, message }: ConfigProblem): CheckResult {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  return problem(key ?? "configuration", message, adviseOn(key ?? "", message) ?? `edit ${place}`);
}

function adviseOn(key: string, message: string): string | undefined {
  if (/could be guessed/.test(message)) {
    if (/^hooks\.token(\[|$)/.test(key)) return `webhooks token rotate ${DEFAULT_TOKEN}`;
    const name = /^hooks\.tokens\.([\w-]+)\.secret/.exec(key)?.[1];
    return name && `webhooks token rotate ${name}`;
  }
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
