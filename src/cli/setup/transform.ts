import { toCommand } from "../../core/shared/text/command.ts";
import type { Command } from "commander";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Change, editConfig } from "../../service/authoring/edit-config.ts";
import { findWrittenUse, findUses, writePlace, type WrittenUse } from "../../service/authoring/plan.ts";
import {
  findTransformsDir,
  inFile,
  listItems,
  readTarget,
  selectPart,
  type Target,
} from "../../service/authoring/target.ts";
import { isBuiltIn, type PresetPlace, readPreset, requirePreset, toTypeName } from "../../core/config/presets/file.ts";
import type { MappingSource } from "../../core/config/resolved-config.ts";
import { readConfig } from "../../service/drivers.ts";
import { ConfigError } from "../../core/errors.ts";
import { isBuiltInHook } from "../../core/mapping/mapping-index.ts";
import type { EventTimeline } from "../../operator/views.ts";
import { replaceFile } from "../../core/shared/system/files.ts";
import { isObject, readPath, toKeyPath } from "../../core/shared/json.ts";
import { didYouMean, trimSlashes } from "../../core/shared/text/text.ts";
import { addItem, addServiceOptions, PART_HELP, type ServiceFlags } from "../command.ts";
import { locateNewConfig, readAnyConfig, readPayload, searchPresets } from "../context.ts";
import { type CliIo, listFiles, nameCommands, print, printJson, printWarnings } from "../io.ts";
import { createOperatorClient, readEvent } from "../operator-client.ts";
import { listEvents, type PresetSample, readPresetSamples } from "../../service/authoring/sample.ts";
import { saveSample } from "../samples/save.ts";
import { writeEditorFiles } from "./editor-files.ts";
import { toShape, writeModule, writePresetModule } from "../../service/authoring/module-text.ts";
import { readTemplate } from "./templates.ts";

interface NewFlags extends ServiceFlags {
  dir?: string;
  part?: string;
  sample: string[];
  fromEvent: string[];
  preset?: string;
  event?: string;
  print: boolean;
}

export function addTransform(program: Command, io: CliIo): void {
  const create = program.command("transform").description("Write transforms.").command("new");
  addServiceOptions(create, "print one JSON object")
    .description("Write a typed transform with samples, and add it to the configuration.")
    .argument("<name>", "name of the module, and of the hook if it gets one")
    .option("--sample <file>", "a JSON payload: a sample, and part of the payload's type; may be repeated", addItem, [])
    .option("--from-event <id>", "the payload of a stored event, as with --sample; last is the newest", addItem, [])
    .option(
      "--preset <name>",
      "the types of a preset's payloads, its samples, and its action as the base; a name or a folder",
    )
    .option("--event <name>", "with --preset: only events of this name, as pull_request.opened")
    .option("--print", "print the mapping and leave the configuration as it is", false)
    .option("--part <file>", PART_HELP)
    .option("--dir <folder>", "folder of the transforms (default: hooks.transformsDir, else ./transforms)")
    .action((name: string, flags: NewFlags) => newTransform(name, flags, io));
}

/** Writes the transform, its samples, and what an editor needs beside them. Never overwrites a file of the user. */
async function newTransform(given: string, flags: NewFlags, io: CliIo): Promise<void> {
  const name = requireName(given.replace(/\.ts$/, ""));
  const payloads = await Promise.all(flags.sample.map((file) => readPayload(file, io)));
  const events = await readEvents(flags, io);
  const chosen = selectPart(readTarget(locateNewConfig(flags.config, io), io.env), flags.part, io.cwd);
  const preset = await readPresetEvent(flags, io);
  const plan = preset ? planPreset(chosen, name, preset) : await planTransform(chosen, name, events[0]);
  const target = inFile(chosen, plan?.file ?? chosen.file);
  const folder = flags.dir === undefined ? findTransformsDir(target, target.file) : path.resolve(io.cwd, flags.dir);
  const files = preset ? toPresetFiles(name, preset) : toFiles(name, payloads, { events, plan, flags });
  requireFree(folder, Object.keys(files));

  for (const [file, text] of Object.entries(files)) replaceFile(path.join(folder, file), text);
  const written = Object.keys(files).map((file) => path.join(folder, file));
  const isThere = target.text !== undefined || flags.part !== undefined;
  const isAdded = plan !== undefined && !flags.print && flags.dir === undefined && isThere;
  if (isAdded)
    replaceFile(target.file, editConfig(target.file, target.text ?? "", [plan.change]), {
      expected: target.text ?? null,
    });
  for (const event of events) {
    const saved = await saveSample(event, { to: path.join(folder, name), config: flags.config }, io);
    const { failure } = saved;
    written.push(...saved.files);
    if (failure !== undefined) printWarnings(io, [`a sample has no expected action: ${failure}`]);
  }
  const config = await readAnyConfig(flags.config, io);
  written.push(...writeEditorFiles(folder, config, preset && isBuiltIn(preset.folder)).written);
  const test = nameCommands(
    io,
    toCommand("test", flags.dir === undefined ? name : path.relative(io.cwd, folder) || "."),
  );
  const mapping = plan && toInlineText(plan.shown);
  if (flags.json) {
    const changed = isAdded ? target.file : undefined;
    return printJson(io, { ok: true, written, config: changed, key: plan?.key, mapping, test });
  }
  const place = path.relative(io.cwd, target.file);
  print(io, "Written:", ...listFiles(io, written), "");
  if (!plan || !mapping) print(io, `${place} has a mapping of this hook already.`);
  else if (isAdded) print(io, `Added to ${plan.hasBase ? plan.key : "hooks.mappings"} in ${place}:`, `  ${mapping}`);
  else print(io, `For ${preset ? plan.key : "hooks.mappings"} in your configuration:`, `  ${mapping}`);
  if (preset && plan?.isNewUse && isSigned(preset))
    print(io, "Its sender's requests need the hook token until you set the secret in with.");
  if (payloads.length > 0 || preset) print(io, "", "Record what it gives for the sample:", `  ${test} --update`);
  print(io, "", "Run its samples at every save:", `  ${test} --watch`);
}

async function readEvents(flags: NewFlags, io: CliIo): Promise<EventTimeline[]> {
  if (flags.fromEvent.length === 0) return [];
  const client = await createOperatorClient(flags, io);
  return Promise.all(flags.fromEvent.map((start) => readEvent(client, start)));
}

function toFiles(
  name: string,
  payloads: unknown[],
  { events, plan, flags }: { events: EventTimeline[]; plan: TransformPlan | undefined; flags: NewFlags },
): Record<string, string> {
  if (payloads.length + events.length === 0) return readTemplate(name);
  const shape = toShape([...payloads, ...events.map(({ request }) => request.payload)]);
  const base = !plan?.hasBase ? undefined : events[0]?.actions[0]?.kind === "wake" ? "text" : "message";
  const samples = payloads.map((payload, index): [string, string] => [
    `${name}.samples/${payloads.length === 1 ? "first" : path.basename(flags.sample[index] ?? "", ".json")}.json`,
    `${JSON.stringify(payload, undefined, 2)}\n`,
  ]);
  return { [`${name}.ts`]: writeModule(name, shape, base), ...Object.fromEntries(samples) };
}

function isSigned({ folder }: PresetPlace): boolean {
  return readPreset(folder).preset.common?.["auth"] !== undefined;
}

interface PresetEvent extends PresetPlace {
  /** undefined: all. */
  event?: string;
  samples: PresetSample[];
}

/** Throws a `ConfigError` if there is no such preset or event. */
async function readPresetEvent(flags: NewFlags, io: CliIo): Promise<PresetEvent | undefined> {
  const { preset, event, sample, fromEvent } = flags;
  const refuse = (message: string): ConfigError => new ConfigError([{ message }]);
  if (preset === undefined) {
    if (event === undefined) return undefined;
    throw refuse(
      "--event names an event of a preset: set --preset too. The payload of a stored event is --from-event.",
    );
  }
  if (sample.length + fromEvent.length > 0)
    throw refuse("With --preset, the samples are those of the preset: leave out --sample and --from-event.");
  const place = requirePreset(preset, await searchPresets(flags, io));
  const { name, folder } = place;
  const samples = readPresetSamples(folder);
  const known = listEvents(readPreset(folder).preset, samples);
  if (event !== undefined && !known.includes(event)) {
    const otherwise = `; \`${toCommand("presets show", preset)}\` lists its events`;
    throw refuse(`The preset "${name}" has no event "${event}"${didYouMean(event, known, otherwise)}`);
  }
  return { ...place, event, samples: samples.filter((one) => event === undefined || one.event === event) };
}

function toPresetFiles(name: string, { name: preset, folder, event, samples }: PresetEvent): Record<string, string> {
  const isWake = readPreset(folder).preset.mappings.every(({ action }) => action === "wake");
  const copies = samples.flatMap(({ name: sample, file }) =>
    [".json", ".request.json"]
      .filter((extension) => existsSync(file + extension))
      .map((extension) => [`${name}.samples/${sample}${extension}`, readFileSync(file + extension, "utf8")]),
  );
  const type = isBuiltIn(folder) ? toTypeName(preset) : toShape(samples.map(({ payload }) => payload));
  const module = writePresetModule(type, event, isWake ? "text" : "message");
  return { [`${name}.ts`]: module, ...Object.fromEntries(copies) };
}

/** `{ match: { path: "ci" } }` */
function toInlineText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toInlineText).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, child]) => `${key}: ${toInlineText(child)}`)
    .join(", ")} }`;
}

function requireName(name: string): string {
  const message = !/^[a-z0-9][a-z0-9_-]*$/i.test(name)
    ? `"${name}" is not a valid name for a transform: expected letters, digits, - and _, as in my-hook.`
    : isBuiltInHook(name)
      ? `The service itself handles the hook "${name}": choose another name.`
      : undefined;
  if (message === undefined) return name;
  throw new ConfigError([{ message }]);
}

function requireFree(folder: string, files: string[]): void {
  const taken = files.map((file) => path.join(folder, file)).filter((file) => existsSync(file));
  if (taken.length === 0) return;
  throw new ConfigError(taken.map((file) => ({ file, message: "This file exists already: nothing was written." })));
}

/** The change of a configuration that calls a new transform. */
interface TransformPlan {
  /** The file that has it. */
  file: string;
  change: Change;
  shown: unknown;
  /** `hooks.mappings[0]` */
  key: string;
  /** Something gives the transform an action to start from. */
  hasBase: boolean;
  /** The configuration did not use the preset before. */
  isNewUse?: boolean;
}

/**
 * Plans to call a new module: from the mapping or the preset that took the event, else from a new mapping. Throws a
 * `ConfigError` if that has a transform already. undefined: the hook has a mapping that nothing is known about.
 */
async function planTransform(target: Target, name: string, event?: EventTimeline): Promise<TransformPlan | undefined> {
  const source = event?.mapping === undefined ? undefined : await findSource(target, event.mapping);
  if (!source || !event) return planMapping(target, name, event);
  const { preset, baseDir: folder, id, mapping, origin } = source;
  const { file = target.file, key } = origin;
  const use =
    preset === undefined ? undefined : findWrittenUse(target, { name: preset, folder, written: preset }, event.hook);
  if (preset !== undefined && !use) {
    const message = `The preset "${preset}" is not in hooks.presets: add it there.`;
    throw new ConfigError([{ file: target.config, message }]);
  }
  // A preset's own transform may be replaced.
  if (mapping.transform && (!use || use.with["transform"] !== undefined)) {
    const message = `The mapping "${id}" has the transform ${mapping.transform.module} already. Make samples for it with \`npx hookline events save\`.`;
    throw new ConfigError([{ file, key, message }]);
  }
  if (use) return planUsed(target, name, use);
  const shown = { module: `${name}.ts` };
  const place = ["hooks", "mappings", Number(/\d+/.exec(key)?.[0]), "transform"];
  return { file, change: { kind: "set", path: place, value: shown }, shown, key: toKeyPath(place), hasBase: true };
}

/** Plans to call a new module from a use of a preset. */
function planUsed(target: Target, name: string, { file, at, with: options }: WrittenUse): TransformPlan {
  const shown = { module: `${name}.ts` };
  const place = [...at, "with", "transform"];
  const use = readPath(inFile(target, file).written, at.map(String));
  const change: Change = isObject(use)
    ? { kind: "set", path: place, value: shown }
    : { kind: "set", path: at, value: { use, with: { ...options, transform: shown } } };
  return { file, change, shown, key: toKeyPath(place), hasBase: true };
}

/** Plans to call a new module from the preset that is named. If the configuration does not use it, a use is added. Throws a `ConfigError` if it has a transform. */
function planPreset(target: Target, name: string, preset: PresetPlace): TransformPlan {
  const uses = findUses(target, preset);
  const free = uses.find((use) => use.with["transform"] === undefined);
  if (free) return planUsed(target, name, free);
  const [first] = uses;
  if (first) {
    const message = `The preset "${preset.name}" calls a transform already. Change that one, or use the preset under another path.`;
    throw new ConfigError([{ file: first.file, key: first.key, message }]);
  }
  const shown = { use: writePlace(preset, target), with: { transform: { module: `${name}.ts` } } };
  const place = ["hooks", "presets"];
  const change: Change = { kind: "add", path: place, value: shown };
  return { file: target.file, change, shown, key: toKeyPath(place), hasBase: true, isNewUse: true };
}

async function findSource(
  { config, env }: Target,
  id: string,
): Promise<(MappingSource & { origin: { file: string | undefined; key: string } }) | undefined> {
  const read = await readConfig(config, env);
  const source = read.config.hooks.mappings.find((mapping) => mapping.id === id);
  return source && { ...source, origin: source.preset === undefined ? read.originOf(source.key) : source };
}

function planMapping(target: Target, name: string, event?: EventTimeline): TransformPlan | undefined {
  const mappings = listItems(target, ["hooks", "mappings"]);
  const hooks = mappings.map(({ item }) => trimSlashes(String(readPath(item, ["match", "path"]))));
  const isFree = event !== undefined && !isBuiltInHook(event.hook) && !hooks.includes(event.hook);
  const hook = isFree ? event.hook : name;
  if (hooks.includes(hook)) return undefined;
  const instructions = "Find the likely cause and say what to do.";
  const shown = { match: { path: hook }, transform: { module: `${name}.ts` }, instructions };
  const change: Change = { kind: "add", path: ["hooks", "mappings"], value: { id: name, ...shown } };
  const count = mappings.filter(({ file }) => file === target.file).length;
  return { file: target.file, change, shown, key: toKeyPath(["hooks", "mappings", count]), hasBase: false };
}
