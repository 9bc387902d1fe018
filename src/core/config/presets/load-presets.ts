import { didYouMean, trimSlashes } from "../../shared/text/text.ts";
import path from "node:path";
import { messageOf } from "../../errors.ts";
import { appendSegment, isWithin, readOwn, readPath, toObject, toText, isObject } from "../../shared/json.ts";
import { findVendor } from "../../ports/vendor.ts";
import type { Located } from "../parse/source.ts";
import { type Reference, withReferences } from "../references.ts";
import { error, type Finding, warning } from "../rules/finding.ts";
import type { MappingInput, Preset } from "../schema/generated.ts";
import { checkMappingSchema } from "../schema/blocks.ts";
import { type SchemaProblem, toConfigProblem } from "../schema/problems.ts";
import type { Drivers } from "../plugins.ts";
import { PRESET_SETTINGS } from "../settings.ts";
import type {
  MailSettings,
  MappingSource,
  PresetReads,
  PresetUse,
  PresetWrites,
  ResolvedConfig,
} from "../resolved-config.ts";
import { findLostId, splitAdditions, withAdditions } from "./additions.ts";
import { explainMissing, type PresetFile, readPreset, readTemplate } from "./file.ts";
import { checkFrom, checkMention, resolveFrom } from "./from.ts";
import {
  type FillOptions,
  fillParameters,
  type Parameters,
  type ParameterUse,
  readAuth,
  resolveParameters,
} from "./parameters.ts";
import { findReads, withReads } from "./reads.ts";
import { checkWrites, findWrites, withWrites } from "./writes.ts";

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

/** A mailbox that a preset has its defaults from. With `only`, the mappings are for its mails alone. */
interface Defaults {
  settings: MailSettings;
  only?: true;
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

/** A mapping of a preset with its parameters, not checked yet. */
interface FilledMapping {
  id: string;
  /** `mappings[0]`, with several mailboxes `mappings[0]-<mailbox>`, so that a problem finds the one that it came from. */
  key: string;
  value: Record<string, unknown>;
  uses: ParameterUse[];
}

interface FillMappingsOptions extends Pick<FillOptions, "readFile">, Partial<Pick<ExpandOptions, "toolSets">> {
  mailbox: Defaults | undefined;
}

export function fillMappings(
  preset: Preset,
  { values: given }: Pick<Parameters, "values">,
  { readFile, mailbox, toolSets = [] }: FillMappingsOptions,
): FilledMapping[] {
  const only = mailbox?.only && mailbox.settings.name;
  const suffix = only === undefined ? "" : `-${only}`;
  const hook = String(given["path"]);
  const { values, additions } = splitAdditions(given, preset);
  const fill = (part: object, key: string) => fillParameters(part, key, { values, readFile });
  // Once, so that the mappings share what they have in common.
  const common = fill(toCommon(preset, values), "common");
  return preset.mappings.map((template, index) => {
    const key = `mappings[${index}]${suffix}`;
    const own = fill(without(template, values), key);
    const { value: merged, uses: added } = withAdditions(merge(common.value, own.value), additions, key);
    const started = withMention(withFrom(merged, preset, values["from"]), preset, values["mention"]);
    const shown = values["fields"] === "full" ? withPayload(started) : started;
    const placed = withWorkspace(withAccount(shown, values["account"]), preset, values);
    const about = { values, id: merged["id"], toolSets };
    const value = withWrites(withReads(placed, preset, about), preset, about);
    const { sessionKey } = value;
    if (typeof sessionKey === "string" && !("sessionKey" in values)) {
      value["sessionKey"] = atPath(sessionKey, preset.name, hook);
    }
    if (value["state"] === true) value["state"] = trimSlashes(hook);
    if (only !== undefined) value["match"] = { ...toObject(value["match"]), source: only };
    const id = (preset.mappings.length === 1 ? hook : `${hook}-${toText(value["id"] ?? index)}`) + suffix;
    return {
      id,
      key,
      value,
      // First: the places of the others are those before rules are left out.
      uses: [...added, ...common.uses.map((use) => ({ ...use, key: use.key.replace("common", key) })), ...own.uses],
    };
  });
}

/** The fields that all mappings of a preset share, with its path and the given settings. */
function toCommon(preset: Preset, values: Parameters["values"]): object {
  const { common = {} } = preset;
  const match = { path: { $param: "path" }, ...toObject(common["match"]) };
  const given = PRESET_SETTINGS.filter((name) => name in values).map((name) => [name, { $param: name }]);
  // Without it, the sender needs the hook token.
  const { credential } = readAuth(preset, values);
  const auth = credential === undefined || credential in values ? common["auth"] : undefined;
  return { ...without(common, values), auth, match, ...Object.fromEntries(given) };
}

/** A mapping without the settings that are given, which replace its own. */
function without(template: object, values: Parameters["values"]): object {
  // A list says all of it.
  const replaced: string[] = Array.isArray(values["deliver"]) ? ["channel", "to", "update", "thread"] : [];
  replaced.push(...PRESET_SETTINGS.filter((name) => name in values));
  const isReplaced = (name: string): boolean => replaced.includes(name);
  return Object.fromEntries(Object.entries(template).filter(([name]) => !isReplaced(name)));
}

function merge(common: unknown, own: unknown): Record<string, unknown> {
  const match = { ...toObject(readOwn(common, "match")), ...toObject(readOwn(own, "match")) };
  return { ...toObject(common), ...toObject(own), match };
}

/** The source is on the channel's account, if one is given. */
function withAccount(mapping: Record<string, unknown>, account: unknown): Record<string, unknown> {
  const { source } = mapping;
  if (typeof account !== "string" || !isObject(source)) return mapping;
  return { ...mapping, source: { ...source, channel: `${toText(source["channel"])}:${account}` } };
}

/** The sessions of a use under another path are others. */
function atPath(sessionKey: string, preset: string, hook: string): string {
  return sessionKey.replaceAll(`hook:${preset}:`, () => `hook:${hook}:`);
}

/** `true` is the repository of the event, at the channel's account. */
function withWorkspace(
  { workspace, ...mapping }: Record<string, unknown>,
  { workspace: usual }: Preset,
  values: Parameters["values"],
): Record<string, unknown> {
  if (workspace === undefined || workspace === false) return mapping;
  const written = toObject(workspace);
  if (!usual || written["repository"] !== undefined) return { ...mapping, workspace };
  const { account } = values;
  const repository =
    typeof account === "string" ? usual.repository.replace(":", () => `:${account}:`) : usual.repository;
  return { ...mapping, workspace: { ...usual, ...written, repository } };
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

/** Only what asks has to name the agent. */
function withMention(mapping: Record<string, unknown>, preset: Preset, given: unknown): Record<string, unknown> {
  const { mention, ...others } = mapping;
  const is = given ?? preset.mention?.default ?? false;
  return mapping["asks"] === true && is !== false ? { ...others, mention: { ...toObject(mention), is } } : others;
}

/** Without anything that says who may start a turn, nobody may. */
function withFrom(mapping: Record<string, unknown>, { name, from }: Preset, given: unknown): Record<string, unknown> {
  const { author: cases } = mapping;
  if (!from || !Array.isArray(cases)) return mapping;
  const author = cases.map((one: unknown) => ({ of: name, ...toObject(one) }));
  const asks = from.asks === true && given !== undefined ? { asks: true } : {};
  return { ...mapping, author, ...asks, from: { is: resolveFrom(from, given) ?? [] } };
}

/** The message with the whole payload below it, which is not cut. */
function withPayload({ maxMessageLength: _max, ...mapping }: Record<string, unknown>): Record<string, unknown> {
  const payload = mapping["forEach"] === undefined ? "payload" : "item";
  return { ...mapping, messageTemplate: `${toText(mapping["messageTemplate"])}\n\nPayload:\n{{json ${payload}}}` };
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
