import { toCommand } from "../../core/shared/text/command.ts";
import { trimSlashes } from "../../core/shared/text/text.ts";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Change, editConfig } from "../../service/authoring/edit-config.ts";
import {
  type ConfigPlan,
  findUses,
  planChanges,
  requireNew,
  toFileReference,
  writePlan,
} from "../../service/authoring/plan.ts";
import { findTransformsDir, inFile, readTarget, type Target } from "../../service/authoring/target.ts";
import { readConfigText } from "../../service/drivers.ts";
import { type PresetPlace, readPreset } from "../../core/config/presets/file.ts";
import { fillMappings } from "../../core/config/presets/fill-mappings.ts";
import { mailboxesFor } from "../../core/config/presets/load-presets.ts";
import { resolveParameters } from "../../core/config/presets/parameters.ts";
import { findReadName, listReadNames } from "../../core/config/presets/reads.ts";
import { listWriteNames } from "../../core/config/presets/writes.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import type { Preset } from "../../core/config/schema/generated.ts";
import { ConfigError, toSentence } from "../../core/errors.ts";
import { readOwn, toObject } from "../../core/shared/json.ts";
import type { ConfigFlags } from "../command.ts";
import { locateConfig } from "../context.ts";
import { formatCount } from "../format.ts";
import { readPlan } from "./change.ts";
import { type CliIo, listFiles, print, printJson, printWarnings } from "../io.ts";

export interface CopyFlags extends ConfigFlags {
  path?: string;
  print: boolean;
}

/** Replaces a preset by its mappings, templates and samples in the user's own files, and says which. */
export async function copyPreset(preset: PresetPlace, flags: CopyFlags, io: CliIo): Promise<void> {
  const target = readTarget(locateConfig(flags.config, io), io.env);
  const before = await readConfigText(target.file, target.text ?? "", { env: io.env });
  const { plan, hook, mappings, replaces, leftOut } = planCopy(target, before.config, { preset, hook: flags.path });
  requireNew(plan);
  const after = await readPlan(plan, io.env);
  const known = before.problems.map(({ message }) => message);
  const problems = after.problems.filter(({ message }) => !known.includes(message));
  if (problems.length > 0) throw new ConfigError(problems);
  const shown = editConfig(plan.file, "", [{ kind: "set", path: ["hooks", "mappings"], value: mappings }]);
  if (!flags.print) writePlan(plan);

  const files = [...(plan.newFiles?.keys() ?? [])];
  const warnings = [...after.warnings.map(toSentence), ...leftOut.map(explainLeftOut)];
  if (flags.json) {
    const result = { ok: true, file: plan.file, written: !flags.print, hook, replaces, mappings, files, warnings };
    return printJson(io, result);
  }
  if (flags.print) return print(io, shown.trimEnd());
  const place = path.relative(io.cwd, plan.file);
  const removed = replaces ? `; the use of the preset "${preset.name}" is removed` : "";
  const own = files.filter((file) => !file.includes(".samples"));
  print(
    io,
    `${place}: ${formatCount(mappings.length, "mapping")} added to hooks.mappings${removed}`,
    ...listFiles(io, own),
    `  ${formatCount(files.length - own.length, "file")} of samples, which this runs:`,
    `  ${toCommand("test", hook)}`,
  );
  if (!mappings.some((mapping) => mapping["auth"])) {
    print(io, "Its requests need the hook token: set auth on the mappings if the sender signs.");
  }
  printWarnings(io, warnings);
}

/** A preset as mappings of a configuration's own. */
interface PresetCopy {
  plan: ConfigPlan;
  hook: string;
  mappings: Record<string, unknown>[];
  /** The names in `context`, which the copy lacks. */
  leftOut: string[];
  /** Whether the configuration used the preset, so that the mappings replace it. */
  replaces: boolean;
}

/**
 * Plans to replace a preset by its mappings, with the parameters of the configuration's own use of it, and to copy its
 * templates, modules and samples below `hooks.transformsDir`. References to secrets stay references. `wantedHook`: the hook's
 * name, if the preset is used under several. Throws a `ConfigError` if a parameter is wrong.
 */
function planCopy(
  given: Target,
  { hooks }: ResolvedConfig,
  { preset, hook: wantedHook }: { preset: PresetPlace; hook?: string },
): PresetCopy {
  const { name } = preset;
  const read = readPreset(preset.folder);
  const wanted = wantedHook === undefined ? undefined : trimSlashes(wantedHook);
  const uses = findUses(given, preset).filter((found) => wanted === undefined || found.hook === wanted);
  const [use, another] = uses;
  if (use && another) {
    const message = `The preset "${name}" is used for ${use.hook} and ${another.hook}: choose one with --path.`;
    throw new ConfigError([{ file: use.file, key: use.key, message }]);
  }
  const target = use ? inFile(given, use.file) : given;
  const options = withoutCalls(use?.with ?? (wanted === undefined ? {} : { path: wanted }), read.preset);
  const hook = use?.hook ?? wanted ?? name;
  if (!/^\w[\w.-]*(?:\/\w[\w.-]*)*$/.test(hook)) {
    const message = `The hook "${hook}" cannot be the name of a folder: expected letters, digits, dots, - and _.`;
    throw new ConfigError([{ file: target.file, key: use?.key, message }]);
  }
  const folder = path.join(findTransformsDir(target, target.file), hook);
  const baseDir = path.dirname(target.file);
  /** Absolute, of the files that are another preset's. */
  const shared = new Set<string>();
  const readFile = (file: string): string => {
    const source = path.join(read.folder, file);
    const isShared = path.relative(read.folder, source).startsWith("..");
    if (isShared) shared.add(source);
    return toFileReference(path.join(folder, isShared ? path.basename(file) : file), baseDir);
  };

  const mappings = mailboxesFor(read, hooks).flatMap((mailbox) => {
    const asUsed = { with: options, key: use?.key ?? "hooks.presets" };
    const { parameters, findings } = resolveParameters(read.preset, asUsed, { mailbox: mailbox?.settings });
    // A use was checked with the values of its references, whose texts may not fit.
    if (!use && findings.length > 0) {
      throw new ConfigError(findings.map(({ key, message }) => ({ file: target.file, key, message })));
    }
    return fillMappings(read.preset, parameters, { readFile, mailbox }).map(({ id, value }) =>
      toOwnMapping(id, value, options["transform"] === undefined ? hook : undefined),
    );
  });

  const changes: Change[] = mappings.map((value) => ({ kind: "add", path: ["hooks", "mappings"], value }));
  if (use) changes.unshift({ kind: "remove", path: use.at });
  const newFiles = readFiles(read.folder, folder);
  for (const file of shared) newFiles.set(path.join(folder, path.basename(file)), readText(file));
  const plan = planChanges(target, changes, { secretFiles: new Map(), newFiles });
  return { plan, hook, mappings, replaces: use !== undefined, leftOut: listCalls(use?.with, read.preset) };
}

function explainLeftOut(name: string): string {
  return `${name} is left out, because only a preset has it. A call of agents.tools can replace it.`;
}

function listCalls({ context, grants }: Record<string, unknown> = {}, preset: Preset): string[] {
  return [
    ...listReadNames(context).map((name) => `The context "${name}"`),
    ...listWriteNames(grants, preset).map((name) => `The grant of ${name}`),
  ];
}

/** Only a preset has calls of its own: a mapping of the user's own needs calls of `agents.tools`. */
function withoutCalls(
  { context, grants, readToken: _token, ...rest }: Record<string, unknown>,
  preset: Preset,
): Record<string, unknown> {
  const calls = Array.isArray(context) ? context.filter((entry) => findReadName(entry) === undefined) : [];
  const own = listWriteNames(grants, preset);
  const others = Object.entries(toObject(grants)).filter(([call]) => !own.includes(call));
  return {
    ...rest,
    ...(calls.length > 0 && { context: calls }),
    ...(others.length > 0 && { grants: Object.fromEntries(others) }),
  };
}

/** With what a reader looks for first at the start, and the preset's module in the hook's own folder. */
function toOwnMapping(
  id: string,
  { id: _id, match, transform, ...rest }: Record<string, unknown>,
  folder: string | undefined,
): Record<string, unknown> {
  const module = readOwn(transform, "module");
  if (typeof module !== "string") return { id, match, ...rest };
  const place = folder === undefined ? module : `${folder}/${module}`;
  return { id, match, ...rest, transform: { ...Object(transform), module: place } };
}

/** Templates and modules go into the folder of the hook, samples next to it, where `webhooks test` finds them. */
function readFiles(from: string, to: string): Map<string, string> {
  const own = ["preset.json", "page.md"];
  const files = globSync("**/*.*", { cwd: from })
    .toSorted()
    .filter((file) => !own.includes(file));
  return new Map(
    files.map((file) => [
      file.startsWith(`samples${path.sep}`) ? `${to}.${file}` : path.join(to, file),
      readText(path.join(from, file)),
    ]),
  );
}

function readText(file: string): string {
  return `${readFileSync(file, "utf8").trimEnd()}\n`;
}
