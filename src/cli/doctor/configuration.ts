import { readConfig } from "../../config/load.ts";
import { DEFAULT_TOKEN, type MappingSource, type ResolvedConfig } from "../../config/types.ts";
import { ConfigError, type ConfigProblem } from "../../errors.ts";
import { toText } from "../../shared/json.ts";
import { withProgram } from "../context.ts";
import { formatCount } from "../format.ts";
import type { CliIo } from "../io.ts";
import { type CheckResult, ok, problem } from "./surroundings.ts";

export interface CheckedConfiguration {
  /** Undefined if it cannot be parsed, or does not fit its schema. */
  config: ResolvedConfig | undefined;
  results: CheckResult[];
}

/** What loading finds, then what only matters to a service that others can reach. */
export async function checkConfiguration(file: string, io: CliIo): Promise<CheckedConfiguration> {
  const found = await findProblems(file, io);
  const results = found.map(toResult);
  const config = await readConfig(file, io.env).then(
    (read) => read.config,
    () => undefined,
  );
  if (config && results.length === 0) {
    results.push(ok("configuration", `${file}, ${formatCount(config.hooks.mappings.length, "mapping")}`));
  }
  if (config) results.push(...checkGateway(config), ...checkSecrets(config), ...checkContent(config));
  return { config, results };
}

/** Problems and warnings of what `serve` would serve. */
async function findProblems(file: string, io: CliIo): Promise<ConfigProblem[]> {
  let found: ConfigProblem[] = [];
  try {
    await withProgram(file, io, async ({ warnings }) => void (found = warnings));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    found = error.problems;
  }
  return found;
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
  const variable = /^the environment variable (\w+) is not set/.exec(message)?.[1];
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

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[?::1\]?)$/.test(host);
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
