import { existsSync, lstatSync, readdirSync, readlinkSync, statSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ReadConfig } from "../../core/config/load.ts";
import { byPlace } from "../../core/config/places.ts";
import { listReplies } from "../../core/config/rules/mappings.ts";
import type { MappingSource, ResolvedConfig } from "../../core/config/resolved-config.ts";
import { codeOf, ConfigError, type ConfigProblem, type FoundProblem, messageOf } from "../../core/errors.ts";
import { createAuthenticators } from "../../core/ingress/authenticators.ts";
import { type CompiledMapping, compileMapping, toRunLimits } from "../../core/mapping/compile.ts";
import { createMappingIndex, findShadowed, isBuiltInHook } from "../../core/mapping/mapping-index.ts";
import type { DriverContext } from "../../core/ports/driver.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { toObject } from "../../core/shared/json.ts";
import { isInstalled, orElse, readRegularFile } from "../../core/shared/system/files.ts";
import { withRecords } from "../../core/shared/system/packages.ts";
import { didYouMean, withPeriod } from "../../core/shared/text/text.ts";
import { isPresetCall } from "../../core/types.ts";
import { type Log, silentLog } from "../../core/telemetry/log.ts";
import type { CodeCache } from "../../core/transforms/code-cache.ts";
import { compileTransform } from "../../core/transforms/compile-transform.ts";
import { lockFile } from "../../agents/tools/lock.ts";
import type { ToolSets } from "../../core/ports/open-tool-sets.ts";
import { isCode } from "../../core/transforms/source-boundary.ts";
import type { TransformRunner, TransformSpec } from "../../core/transforms/runner.ts";
import { findGrantProblems, findLeftOut, findTooMany } from "./grants.ts";
import { findCosts, findLargeModules } from "./module-costs.ts";
import { checkRecipients, findThreadless } from "./recipients.ts";
import { findSlowAnswers, findSlowTransforms, openDrivers } from "./open-drivers.ts";

export interface BuildOptions {
  generation: number;
  load(): Promise<ReadConfig>;
  /** If it was loaded earlier: when that began. */
  readAt?: number;
  runner: TransformRunner;
  /** For the drivers. Default: silent. */
  log?: Log;
  /** For the mailboxes that channels send from. Default: replaced tokens are kept in memory. */
  refreshTokens?: DriverContext["refreshTokens"];
  cache?: CodeCache;
  /** The runtime is not wanted any more. */
  signal?: AbortSignal;
}

/** Builds a runtime whole, or throws a `ConfigError` with all problems. */
export async function buildRuntime({
  generation,
  load,
  runner,
  log = silentLog,
  refreshTokens,
  cache,
  signal,
  readAt = Date.now(),
}: BuildOptions): Promise<Runtime> {
  const read = await load();
  const { config, drivers } = read;
  const place = (problem: FoundProblem): ConfigProblem => (problem.line === undefined ? read.place(problem) : problem);
  const { problems: refused, senders, ...opened } = await openDrivers(read, { log, refreshTokens });
  const credentials = new Map(
    senders.flatMap(({ credential, mappings }) => mappings.map((source) => [source, credential])),
  );
  const built = await Promise.all(
    config.hooks.mappings.map((source) =>
      buildMapping(source, credentials.get(source), {
        runner,
        cache,
        transformRoots: config.hooks.transformRoots,
        signal,
      }),
    ),
  );
  const contexts = config.hooks.mappings.flatMap((source) => checkContext(source, opened.tools));
  const replies = config.hooks.mappings.flatMap(({ mapping, key, file }) =>
    listReplies(mapping, key).map((reply) => ({ ...reply, source: mapping.source, file })),
  );
  const recipients = checkRecipients(
    [
      ...replies,
      ...config.alerts.map((rule) => ({ ...rule, file: config.file })),
      ...(config.agents.approvals ? [{ ...config.agents.approvals, key: "agents.approvals", file: config.file }] : []),
    ],
    opened.channels,
  );
  const found = [
    ...groupEqual(built.flatMap((mapping) => mapping.problems)),
    ...recipients,
    ...contexts,
    ...findGrantProblems(config, opened.tools),
    ...senders.flatMap(findSlowAnswers),
    ...refused,
  ].map(place);
  // The mappings of a preset can have the same one.
  const problems = [...read.problems, ...found].filter(
    (problem, index, all) => all.findIndex((other) => isDeepStrictEqual(other, problem)) === index,
  );
  const files = withRecords([
    ...read.files,
    ...built.flatMap((mapping) => mapping.files),
    ...listLockFiles(opened.tools, config),
  ]);
  if (problems.length > 0) {
    throw Object.assign(new ConfigError(problems.toSorted(byPlace(config.file)), files), { parts: read.parts });
  }

  const mappings = built.flatMap(({ mapping }) => mapping ?? []);
  const modules = findCosts(mappings, runner);
  const slow = senders.flatMap(findSlowTransforms);
  const warnings = [
    ...built.flatMap((mapping) => mapping.warnings),
    ...findShadowed(mappings),
    ...slow,
    ...findLeftOut(config, opened.tools),
    ...findTooMany(config, opened.tools),
    ...findLargeModules(modules),
    ...findThreadless(replies, opened.channels),
  ];
  return {
    ...opened,
    generation,
    readAt,
    builtAt: Date.now(),
    config,
    authenticators: createAuthenticators({
      tokens: config.hooks.tokens,
      senders: senders.filter(({ hook }) => !isBuiltInHook(hook)),
      takesTokens: (hook) =>
        mappings.some(({ credential, match: { path: at } }) => !credential && (!at || at === hook)),
      publicUrl: config.gateway.hooksUrl,
    }),
    drivers,
    async readMail(service, request) {
      const { readServiceMail } = await import("../../mail/message/posted-mail.ts");
      return readServiceMail(service, request, config.hooks.mail[0]);
    },
    mappings: createMappingIndex(mappings, config.hooks),
    limits: toRunLimits(mappings),
    warnings: [...read.warnings, ...[...findCrowdedFolder(config), ...warnings].map(place)],
    modules,
    files,
    parts: read.parts,
    place,
  };
}

/** Each call of `context` exists, and has arguments of these names. */
function checkContext({ mapping, file, key }: MappingSource, tools: ToolSets): ConfigProblem[] {
  return (mapping.context ?? []).flatMap((entry, index): ConfigProblem[] => {
    const at = `${key}.context[${index}]`;
    const call = tools.find(entry.call);
    // No second problem: a preset's call is missing only without its credential.
    if (!call && isPresetCall(entry.call)) return [];
    if (tools.leftOut.has(entry.call)) return [];
    if (!call) return [{ file, key: `${at}.call`, message: withPeriod(tools.explainMissing(entry.call)) }];
    const { properties, additionalProperties } = call.input;
    const known = Object.keys(toObject(properties));
    const unknown = Object.keys(entry.arguments ?? {}).find((name) => !known.includes(name));
    if (unknown === undefined || additionalProperties !== false) return [];
    const message = `${entry.call} has no argument "${unknown}"${didYouMean(unknown, known)}`;
    return [{ file, key: `${at}.arguments`, message }];
  });
}

/** Files that change when an operator accepts calls, which are used at once. */
function listLockFiles({ sets }: ToolSets, { baseDir }: ResolvedConfig): string[] {
  return [...sets.values()].some(({ discover }) => discover) ? [lockFile(baseDir)] : [];
}

function findCrowdedFolder({ file, hooks: { transformsDir, mappings }, store }: ResolvedConfig): ConfigProblem[] {
  const isUsed = mappings.some((source) => source.mapping.transform && source.transformsDir === transformsDir);
  const isInside = !path.relative(transformsDir, store.path ?? "").startsWith("..");
  if (!isUsed || store.path === undefined || !isInside) return [];
  const message = "This folder contains the state folder (store.path). Use one that has nothing but transforms.";
  return [{ file, key: "hooks.transformsDir", message }];
}

const MAX_SCHEMA_BYTES = 8 * 1024 * 1024;

export function readSchemaText(file: string): string {
  return readRegularFile(file, MAX_SCHEMA_BYTES).toString("utf8");
}

interface BuiltMapping {
  mapping?: CompiledMapping;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
  files: string[];
}

interface BuildMappingOptions {
  /** Evaluates the transform's module once. */
  runner?: TransformRunner;
  /** Texts of modules by their names, if these are not those of their files. */
  files?: Readonly<Record<string, string>>;
  cache?: CodeCache;
  /** The text of a schema file; throws if it cannot be used. */
  readSchemaFile?: (file: string) => string;
  transformRoots: string[];
  signal?: AbortSignal;
}

export async function buildMapping(
  source: MappingSource,
  credential: string | undefined,
  { runner, files: drafts, cache, transformRoots, signal, readSchemaFile = readSchemaText }: BuildMappingOptions,
): Promise<BuiltMapping> {
  const files: string[] = [];
  const problems: ConfigProblem[] = [];
  const readFile = (file: string): string => {
    files.push(file);
    return readSchemaFile(file);
  };

  const spec = toTransformSpec(source, transformRoots);
  if (spec) runner?.prepare();
  const compiled = spec && (await compileTransform(spec, { drafts, cache }));
  if (compiled && !compiled.bundle) {
    problems.push(...((drafts ? undefined : findMissingModule(spec)) ?? compiled.problems));
  }
  if (compiled?.bundle && runner) problems.push(...(await runner.check(compiled.bundle, signal)));
  if (spec) files.push(spec.root);
  // An installation replaces the file that tells a package's version. Its code is not followed.
  const { inputs = [], manifests = [] } = compiled?.bundle ?? compiled ?? {};
  files.push(...inputs.filter((file) => !isInstalled(file)), ...manifests);

  const mapping = compileMapping(source, { bundle: compiled?.bundle, credential, readFile });
  return { ...mapping, problems: [...problems.map(named(source)), ...mapping.problems], files };
}

/** Instead of what the compiler says about a file that is not there. */
function findMissingModule({ file, root }: TransformSpec): ConfigProblem[] | undefined {
  if (!existsSync(root)) return undefined;
  try {
    statSync(file);
    return undefined;
  } catch (error) {
    return [{ message: `The module ${file} ${explainMissing(file, root, error)}`, file }];
  }
}

function explainMissing(file: string, root: string, error: unknown): string {
  if (orElse(false, () => lstatSync(file).isSymbolicLink())) {
    return `is a link to ${JSON.stringify(readlinkSync(file))}, where nothing can be read. Let it lead to a module.`;
  }
  if (codeOf(error) !== "ENOENT") return `cannot be read: ${messageOf(error)}.`;
  const name = path.relative(root, file);
  const names = orElse([], () => readdirSync(root)).filter((other) => isCode(other) && !other.endsWith(".json"));
  // Names that look the same: an accent is a part of its letter in one, and a character after it in the other.
  if (names.some((other) => other.normalize() === name.normalize())) {
    return "does not exist. One of the same name in other Unicode characters (NFC or NFD) does. Write the name anew in the configuration or rename the file.";
  }
  return `does not exist${didYouMean(name, names, ".")}`;
}

function toTransformSpec(
  { mapping: { transform }, transformsDir }: MappingSource,
  transformRoots: string[],
): TransformSpec | undefined {
  if (!transform) return undefined;
  return {
    file: path.resolve(transformsDir, transform.module),
    root: transformsDir,
    transformRoots,
    export: transform.export,
    timeoutMs: transform.timeoutMs ?? 1000,
    memoryMb: transform.memoryMb ?? 64,
    isolation: transform.isolation ?? "request",
    secrets: transform.secrets ?? {},
  };
}

/** A problem without a line in the transform's module is reported at the mapping. */
function named({ file, key }: MappingSource) {
  return (problem: ConfigProblem): ConfigProblem => ({
    ...problem,
    file: problem.line === undefined ? file : problem.file,
    key: problem.key ?? `${key}.transform.module`,
  });
}

/** Up to this many equal problems are shown one by one. */
const MAX_EQUAL = 3;
/** How many files a grouped problem names. */
const MAX_NAMED = 3;

/** Problems of modules with one cause, which have one message, are one problem that names the first files. */
function groupEqual(problems: ConfigProblem[]): ConfigProblem[] {
  return problems.flatMap((problem) => {
    if (!isInModule(problem)) return [problem];
    const equal = problems.filter((other) => isInModule(other) && other.message === problem.message);
    const files = [...new Set(equal.map(({ file }) => path.basename(file!)))];
    if (files.length <= MAX_EQUAL) return [problem];
    if (equal[0] !== problem) return [];
    const first = files.slice(0, MAX_NAMED).join(", ");
    const message = `${problem.message} The same in ${files.length} files: ${first} and ${files.length - MAX_NAMED} more.`;
    return [{ ...problem, message }];
  });
}

function isInModule({ file, line }: ConfigProblem): boolean {
  return file !== undefined && line !== undefined && isCode(file);
}
