import path from "node:path";
import { didYouMean } from "../../shared/text/text.ts";
import { messageOf } from "../../errors.ts";
import { appendSegment, isObject, isWithin, readPath, toObject } from "../../shared/json.ts";
import { findVendor } from "../../ports/vendor.ts";
import type { Located } from "../parse/source.ts";
import { type Reference, withReferences } from "../references.ts";
import { error, type Finding, warning } from "../rules/finding.ts";
import type { MappingInput, Preset } from "../schema/generated.ts";
import { checkMappingSchema } from "../schema/blocks.ts";
import { type SchemaProblem, toConfigProblem } from "../schema/problems.ts";
import type { Drivers } from "../plugins.ts";
import { PRESET_SETTINGS } from "../settings.ts";
import type { MappingSource, PresetReads, PresetUse, PresetWrites, ResolvedConfig } from "../resolved-config.ts";
import { findLostId } from "./additions.ts";
import { explainMissing, type PresetFile, readPreset, readTemplate } from "./file.ts";
import { type Defaults, fillMappings, type FillMappingsOptions } from "./fill-mappings.ts";
import { checkFrom, checkMention } from "./from.ts";
import { type Parameters, type ParameterUse, readAuth, resolveParameters } from "./parameters.ts";
import { findReads } from "./reads.ts";
import { checkWrites, findWrites } from "./writes.ts";

type Hooks = ResolvedConfig["hooks"];

/** The additions of the presets in use, in their order. */
export interface LoadedPresets {
  mappings: MappingSource[];
  reads: PresetReads[];
  writes: PresetWrites[];
  /** Problems without a file are about the configuration. */
  findings: Finding[];
  /** Which key of a preset's file has its value from which key of the configuration. */
  origins: { file: string; key: string; origin: string }[];
  /** The presets' files, by absolute path. */
  sources: Map<string, Located>;
  /** The other files that were read or looked for, absolute. */
  files: Set<string>;
}

/**
 * Reads the presets that a configuration uses, and fills in their parameters. `references`: those of the configuration. Throws
 * a `ConfigError` if the file of one is not a valid preset.
 */
export function loadPresets(
  { hooks, agents, baseDir }: Pick<ResolvedConfig, "hooks" | "agents" | "baseDir">,
  drivers: Drivers,
  references: readonly Reference[] = [],
): LoadedPresets {
  const loaded: LoadedPresets = {
    mappings: [],
    reads: [],
    writes: [],
    findings: [],
    origins: [],
    sources: new Map(),
    files: new Set(),
  };
  const toolSets = Object.keys(agents.tools);
  for (const [index, use] of hooks.presets.entries()) {
    const first = hooks.presets.slice(0, index).find((other) => toPath(other) === toPath(use));
    const missing = explainMissing(use.written, { baseDir, vendors: drivers.vendors });
    if (missing !== undefined) {
      loaded.files.add(path.join(use.folder, "preset.json"));
      loaded.findings.push(error(use.key, missing));
    } else if (first?.name === use.name) {
      const message = `The preset "${use.name}" is already used at ${first.key}. Give one of them another path in with.`;
      loaded.findings.push(error(use.key, message, first.key));
    } else {
      const preset = readPreset(use.folder);
      loaded.sources.set(preset.file, preset.source);
      loaded.findings.push(...checkVendor(preset, drivers));
      const own = withDrafts(use, { hooks }, preset.preset);
      for (const mailbox of mailboxesFor(preset, hooks))
        expandPreset(preset, own, { mailbox, drivers, loaded, references, toolSets });
    }
  }
  return loaded;
}

/** Registration and catch-up of a preset need the code of its vendor. */
function checkVendor({ preset: { name, registration }, file }: PresetFile, { vendors }: Drivers): Finding[] {
  if (!registration) return [];
  const vendor = findVendor(vendors, name);
  const toMissing = (key: string, part: string): Finding => ({
    ...error(key, `Nothing can do this for "${name}". Add a plugin with vendors.${name}.${part}, or remove this key.`),
    file,
  });
  return [
    ...(vendor?.webhooks ? [] : [toMissing("registration", "webhooks")]),
    ...(registration.catchUp && !vendor?.openMissed ? [toMissing("registration.catchUp", "openMissed")] : []),
  ];
}

function toPath(use: PresetUse): unknown {
  return use.with["path"] ?? use.name;
}

/** A problem with a value that the configuration gave a preset belongs to the configuration. */
export function toOrigin<Problem extends { file?: string; key?: string }>(
  problem: Problem,
  origins: LoadedPresets["origins"],
): Problem {
  const from = origins.find(({ file, key }) => file === problem.file && isWithin(problem.key ?? "", key));
  return from ? { ...problem, key: from.origin, file: undefined } : problem;
}

/** With several mailboxes, a preset is expanded for each, and finally for mails from elsewhere. */
export function mailboxesFor({ preset }: PresetFile, { mail }: Hooks): (Defaults | undefined)[] {
  if (preset.defaultsFrom === undefined) return [undefined];
  if (mail.length === 1) return mail.map((settings) => ({ settings }));
  const named = new Map(mail.map((settings) => [settings.name, settings]));
  return [...Array.from(named.values(), (settings) => ({ settings, only: true as const })), undefined];
}

interface ExpandOptions {
  mailbox: Defaults | undefined;
  drivers: Drivers;
  loaded: LoadedPresets;
  references: readonly Reference[];
  /** The names of `agents.tools`. */
  toolSets: readonly string[];
}

/** Checks the parameters, fills them in, and checks the mappings that come of it. */
function expandPreset(
  { preset, file, folder }: PresetFile,
  use: PresetUse,
  { mailbox, drivers, loaded, references, toolSets }: ExpandOptions,
): void {
  const { parameters, findings: refused } = resolveParameters(preset, use, { mailbox: mailbox?.settings, references });
  loaded.findings.push(...refused);
  if (refused.length > 0) return;

  const unreadable = new Map<string, Finding>();
  const texts = new Map<string, string>();
  // Its mappings share most files.
  const readFile = (name: string, at: string): string => {
    const text = texts.get(name) ?? readOnce(name, at);
    texts.set(name, text);
    return text;
  };
  const readOnce = (name: string, at: string): string => {
    loaded.files.add(path.join(folder, name));
    try {
      return readTemplate({ folder }, name);
    } catch (failure) {
      unreadable.set(name, { ...error(at, messageOf(failure)), file });
      return "";
    }
  };
  loaded.findings.push(...checkFrom(preset, parameters.values, { at: use.key, key: parameters.keyOf("from") }));
  loaded.findings.push(...checkMention(preset, parameters.values["mention"], parameters.keyOf("mention")));
  loaded.findings.push(...checkDedupe(preset, parameters, { readFile, mailbox, drivers }));
  loaded.findings.push(...checkWrites(preset, parameters, { toolSets }));
  const reads = findReads(preset, use, parameters, readFile);
  if (reads) loaded.reads.push(reads);
  const writes = findWrites(preset, parameters);
  if (writes) loaded.writes.push(writes);
  const values = withReferences(parameters.values, parameters.keyOf, references);
  const written = references.length > 0 ? fillMappings(preset, { values }, { readFile, mailbox, toolSets }) : [];
  const filled = fillMappings(preset, parameters, { readFile, mailbox, toolSets });
  loaded.findings.push(...unreadable.values());
  if (unreadable.size > 0) return;
  for (const [index, { id, key, value, uses }] of filled.entries()) {
    const problems = checkMappingSchema(value, drivers);
    const refusals = problems.map((problem) => toFinding(problem, key));
    const findings = [...checkDeclared(uses, parameters, preset), ...refusals];
    loaded.findings.push(...findings.map((finding) => ({ ...finding, file })));
    for (const part of uses) {
      const origin = part.path.reduce<string>(appendSegment, parameters.keyOf(part.name));
      loaded.origins.push({ file, key: part.key, origin });
    }
    if (!isMapping(value, problems)) continue;
    loaded.mappings.push({
      mapping: value,
      written: written[index]?.value,
      id,
      preset: preset.name,
      hasOwnKey: !("sessionKey" in parameters.values),
      file,
      key,
      transformsDir: "transform" in parameters.values ? use.transformsDir : folder,
      baseDir: folder,
    });
  }
  const { credential } = readAuth(preset, parameters.values);
  if (credential !== undefined && !(credential in parameters.values)) {
    const missing = credential === "secret" ? "a secret" : credential;
    const message = `Without ${missing}, "${preset.name}" accepts only requests with the hook token, which few senders can add. Set with.${credential}.`;
    loaded.findings.push(warning(use.key, message));
  }
}

function checkDedupe(
  preset: Preset,
  { values, keyOf }: Parameters,
  { drivers, ...options }: FillMappingsOptions & Pick<ExpandOptions, "drivers">,
): Finding[] {
  const { dedupe, ...others } = values;
  const usual = readPath(preset.parameters, ["dedupe", "default"]);
  if (dedupe === usual) return [];
  const own = fillMappings(preset, { values: usual === undefined ? others : { ...others, dedupe: usual } }, options);
  const [lost] = own.flatMap(({ value }) => findLostId(dedupe, value, drivers) ?? []);
  return lost === undefined ? [] : [error(keyOf("dedupe"), lost)];
}

/** Drafts are the agent's own work, so what happens there counts. */
function withDrafts(use: PresetUse, { hooks }: Pick<ResolvedConfig, "hooks">, preset: Preset): PresetUse {
  const hasWorkspace =
    hooks.presets.some((one) => one.with["workspace"]) || hooks.mappings.some(({ mapping }) => mapping.workspace);
  const { ignore = {} } = use.with;
  if (!hasWorkspace || !isObject(preset.ignore?.["drafts"])) return use;
  const written = Array.isArray(ignore) ? { rules: ignore } : toObject(ignore);
  return { ...use, with: { ...use.with, ignore: { drafts: false, ...written } } };
}

function checkDeclared(uses: ParameterUse[], { values }: Parameters, { parameters: own = {} }: Preset): Finding[] {
  const known = [...STANDARD, ...Object.keys(own)];
  return uses
    .filter(({ name }) => !Object.hasOwn(values, name) && !known.includes(name))
    .map(({ key, name }) => error(key, `The preset has no parameter "${name}"${didYouMean(name, known)}`));
}

const STANDARD: string[] = ["secret", "place", ...PRESET_SETTINGS];

function isMapping(_value: unknown, problems: SchemaProblem[]): _value is MappingInput {
  return problems.length === 0;
}

function toFinding(problem: SchemaProblem, key: string): Finding {
  return error(problem.segments.reduce<string>(appendSegment, key), toConfigProblem(problem).message);
}
