import { readFileSync } from "node:fs";
import path from "node:path";
import type { AgentDriver } from "../agents/driver.ts";
import { createAgent } from "../agents/index.ts";
import type { ChannelDriver } from "../channels/driver.ts";
import { createChannels } from "../channels/index.ts";
import { byPlace, type ReadConfig } from "../config/load.ts";
import { staticText } from "../config/rules/mappings.ts";
import type { MappingSource, ResolvedConfig } from "../config/types.ts";
import { ConfigError, type ConfigProblem, messageOf } from "../errors.ts";
import { createDoors, type Doors } from "../ingress/doors.ts";
import type { RunLimits } from "../journal/journal.ts";
import { createMailSource } from "../mail/index.ts";
import type { MailSource } from "../mail/source.ts";
import { type CompiledMapping, compileMapping, toRunLimits } from "../mapping/compile.ts";
import { createMappingIndex, findShadowed, type MappingIndex } from "../mapping/mapping-index.ts";
import { compileTransform } from "../transforms/compile.ts";
import type { TransformRunner, TransformSpec } from "../transforms/runner.ts";
import type { ChannelName } from "../types.ts";

/** Everything that config, presets and transforms mean, compiled ahead of any request. Never changed, only replaced. */
export interface Program {
  /** 1 for the first, one more for each that replaced it. */
  generation: number;
  /** When its files were read and when it was complete, in milliseconds since the epoch. */
  readAt: number;
  builtAt: number;
  config: ResolvedConfig;
  /** Who may send to which hook. */
  doors: Doors;
  mappings: MappingIndex;
  limits: RunLimits;
  agent: AgentDriver;
  channels: Map<ChannelName, ChannelDriver>;
  /** undefined: no mailbox is configured. */
  mailSource: MailSource | undefined;
  warnings: ConfigProblem[];
  /** Files and folders whose change asks for a new program. */
  files: string[];
}

export interface BuildOptions {
  generation: number;
  load(): Promise<ReadConfig>;
  runner: TransformRunner;
}

/** Builds a program whole, or throws a `ConfigError` with everything that stands in the way. */
export async function buildProgram({ generation, load, runner }: BuildOptions): Promise<Program> {
  const readAt = Date.now();
  const read = await load();
  const { config } = read;
  const built = await Promise.all(config.hooks.mappings.map((source) => buildMapping(source, runner)));
  const place = (problem: ConfigProblem): ConfigProblem => locate(problem, read);
  const { channels, problems: misfits } = await openChannels(read);
  const found = [...built.flatMap((mapping) => mapping.problems), ...misfits];
  const problems = [...read.problems, ...found.map(place)];
  if (problems.length > 0) throw new ConfigError(problems.toSorted(byPlace(config.file)));

  const mappings = built.flatMap(({ mapping }) => mapping ?? []);
  const open = <Driver>(create: () => Driver | Promise<Driver>): Promise<Driver> =>
    openDriver(create, config.file, place);
  const agent = await open(() => createAgent(config.agents, config.plugged.agents));
  const mailSource = await open(() => createMailSource(config.hooks.mail.source, config.plugged.mailSource));
  return {
    generation,
    readAt,
    builtAt: Date.now(),
    config,
    doors: createDoors(config.hooks.tokens),
    mappings: createMappingIndex(mappings),
    limits: toRunLimits(mappings),
    agent,
    channels,
    mailSource,
    warnings: [
      ...read.warnings,
      ...[...built.flatMap(({ warnings }) => warnings), ...findShadowed(mappings)].map(place),
    ],
    files: [...new Set([...read.files, ...built.flatMap(({ files }) => files)])],
  };
}

/** What a driver says is wrong with its block stands there in the file. */
async function openDriver<Driver>(
  create: () => Driver | Promise<Driver>,
  file: string | undefined,
  place: (problem: ConfigProblem) => ConfigProblem,
): Promise<Driver> {
  try {
    return await create();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.problems.map((problem) => place({ ...problem, file })));
  }
}

interface BuiltMapping {
  mapping?: CompiledMapping;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
  files: string[];
}

async function buildMapping(source: MappingSource, runner: TransformRunner): Promise<BuiltMapping> {
  const files: string[] = [];
  const problems: ConfigProblem[] = [];
  const readFile = (file: string): string => {
    files.push(file);
    return readFileSync(file, "utf8");
  };

  const spec = toTransformSpec(source);
  const compiled = spec && (await compileTransform(spec));
  problems.push(...(compiled?.problems ?? []));
  if (compiled?.bundle) problems.push(...(await runner.check(compiled.bundle)));
  if (spec) files.push(spec.root);

  const mapping = compileMapping(source, { bundle: compiled?.bundle, readFile });
  return { ...mapping, problems: [...problems.map(named(source)), ...mapping.problems], files };
}

function toTransformSpec({ mapping: { transform }, transformsDir }: MappingSource): TransformSpec | undefined {
  if (!transform) return undefined;
  return {
    file: path.resolve(transformsDir, transform.module),
    root: transformsDir,
    export: transform.export,
    timeoutMs: transform.timeoutMs ?? 1000,
    memoryMb: transform.memoryMb ?? 64,
    isolation: transform.isolation ?? "request",
    secrets: transform.secrets ?? {},
  };
}

/** A transform's problem stands in the module; where it has no line there, it is the mapping's. */
function named({ file, key }: MappingSource) {
  return (problem: ConfigProblem): ConfigProblem => ({
    ...problem,
    file: problem.line === undefined ? file : problem.file,
    key: problem.key ?? `${key}.transform.module`,
  });
}

function locate(problem: ConfigProblem, read: ReadConfig): ConfigProblem {
  return problem.line !== undefined || problem.key === undefined ? problem : read.place(problem);
}

/** The channels that a configuration describes, and what they say is wrong with it. */
interface OpenedChannels {
  channels: Map<ChannelName, ChannelDriver>;
  problems: ConfigProblem[];
}

/** Makes the drivers; of a configuration that cannot be used, none. */
async function openChannels({ config, problems }: ReadConfig): Promise<OpenedChannels> {
  if (problems.length > 0) return { channels: new Map(), problems: [] };
  try {
    const channels = await createChannels(config.channels, config.plugged.channels);
    return { channels, problems: checkRecipients(config.hooks.mappings, channels) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { channels: new Map(), problems: error.problems };
  }
}

/** Recipients that are named ahead of any request have the form that their channel knows. */
function checkRecipients(mappings: MappingSource[], channels: ReadonlyMap<string, ChannelDriver>): ConfigProblem[] {
  return mappings.flatMap(({ mapping, key, file }) => {
    const channel = channels.get(staticText(mapping.channel) ?? "");
    const complaint = channel && findComplaint(channel, staticText(mapping.to)?.trim());
    return complaint === undefined ? [] : [{ file, key: `${key}.to`, message: complaint }];
  });
}

/** Of the recipient only its form is known: whether there is one, the service says when it gets a message. */
function findComplaint(channel: ChannelDriver, to: string | undefined): string | undefined {
  if (!to) return undefined;
  try {
    channel.checkRecipient(to);
    return undefined;
  } catch (error) {
    return `this is no recipient for ${channel.name}. ${messageOf(error)}`;
  }
}
