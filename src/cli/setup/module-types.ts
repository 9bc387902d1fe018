import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { isBuiltIn, toTypeName } from "../../core/config/presets/file.ts";
import type { MappingSource, ResolvedConfig } from "../../core/config/resolved-config.ts";
import { isInstalled, orElse } from "../../core/shared/system/files.ts";
import { PACKAGE_ROOT } from "../../core/shared/system/package.ts";
import { trimSlashes } from "../../core/shared/text/text.ts";
import { toScheduleHook } from "../../core/types.ts";
import { addValue, createShape, type Shape, toClosedType, toKey, toOpenType } from "../../service/authoring/shape.ts";
import { readPayloads } from "../../service/authoring/sample.ts";

/** The name of the file in each folder of transforms. */
export const TYPES = "hookline.d.ts";

/** The part of a configuration that the types are about. */
export type TypedConfig = Pick<ResolvedConfig, "baseDir" | "hooks" | "agents" | "channels">;

/** The folders of transforms that exist, absolute. */
export function listTransformFolders({ hooks: { transformsDir, mappings } }: TypedConfig): string[] {
  const folders = new Set([transformsDir, ...mappings.filter(callsModule).map((source) => source.transformsDir)]);
  return [...folders].filter((folder) => existsSync(folder));
}

/** The modules of a preset that is installed have their types from their author. */
function callsModule({ mapping: { transform }, preset, transformsDir, baseDir }: MappingSource): boolean {
  const isOfPreset = preset !== undefined && transformsDir === baseDir;
  return transform !== undefined && !(isOfPreset && (isBuiltIn(baseDir) || isInstalled(baseDir)));
}

/**
 * The types of the transforms in a folder: what the configuration says of them. Without the package in a `node_modules` above,
 * also the declarations of `hookline` itself, so that an editor needs nothing installed.
 */
export function renderTypes(folder: string, config: TypedConfig): string {
  const register = renderRegister(folder, config);
  if (!isPackageInstalled(folder)) {
    const declarations = readFileSync(path.join(PACKAGE_ROOT, "transforms", TYPES), "utf8");
    return `${declarations}\n${register}`;
  }
  const note = `// Types of the transforms in this folder, by the configuration. Generated: \`npx hookline types\` writes it anew.`;
  return `${note}\n${ZONE}\n\nexport {};\n\n${register}`;
}

const ZONE = "// The time zone is UTC and the locale en-US on every machine: give `Intl` a `timeZone` and a locale.";

export function isPackageInstalled(folder: string): boolean {
  if (existsSync(path.join(folder, "node_modules/hookline/package.json"))) return true;
  return path.dirname(folder) !== folder && isPackageInstalled(path.dirname(folder));
}

function renderRegister(folder: string, config: TypedConfig): string {
  const sources = config.hooks.mappings.filter((source) => callsModule(source) && source.transformsDir === folder);
  const byModule = Map.groupBy(sources, ({ mapping }) => toModuleName(mapping.transform?.module ?? ""));
  const modules = [...byModule].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const lines = [
    'declare module "hookline" {',
    "  interface Register {",
    `    channels: ${toUnion(Object.keys(config.channels).toSorted().map(toLiteral))};`,
    `    models: ${toUnion(listModels(config.agents))};`,
    ...modules.flatMap(([name, called]) => renderModule(folder, name, called)),
    "  }",
    "}",
    "",
  ];
  return lines.join("\n");
}

/** `./ci.ts` and `ci.ts` are one module. */
function toModuleName(written: string): string {
  return path.normalize(written).split(path.sep).join("/");
}

/** The list if there is one, with its aliases. Else any model of a provider. */
function listModels({ models, providers }: TypedConfig["agents"]): string[] {
  if (models) return models.flatMap(({ id, alias }) => (alias === undefined ? [id] : [id, alias])).map(toLiteral);
  const names = Object.keys(providers).toSorted();
  return names.length === 0 ? ["string"] : names.map((name) => `\`${escapeTemplate(name)}/\${string}\``);
}

function escapeTemplate(text: string): string {
  return text.replaceAll(/[`\\$]/g, String.raw`\$&`);
}

function renderModule(folder: string, name: string, sources: MappingSource[]): string[] {
  const mappings = sources.map(({ mapping }) => mapping);
  const targets = mappings.flatMap(({ deliver }) =>
    Array.isArray(deliver) ? deliver.flatMap((target) => target.name ?? []) : [],
  );
  const hasState = mappings.every(({ state }) => state !== undefined && state !== false);
  return [
    `    ${JSON.stringify(name)}: {`,
    `      mappings: ${toUnion(sources.map(({ id, written }) => toLiteral(written?.id ?? id)))};`,
    `      hooks: ${toUnion(sources.map(findHook))};`,
    `      targets: ${toUnion(targets.map(toLiteral))};`,
    `      secrets: ${renderSecrets(sources)};`,
    `      state: ${hasState};`,
    `      payload: ${findPayload(folder, name, sources)};`,
    "    };",
  ];
}

function findHook({ mapping, written, id }: MappingSource): string {
  if (mapping.schedule) return toLiteral(toScheduleHook(written?.id ?? id));
  const hook = trimSlashes((written ?? mapping).match?.path ?? "");
  return hook === "" ? "string" : toLiteral(hook);
}

/** Names, never values. Only those that all mappings have are there at each call. */
function renderSecrets(sources: MappingSource[]): string {
  const names = sources.map(({ mapping: { transform } }) => Object.keys(transform?.secrets ?? {}));
  const all = [...new Set(names.flat())].toSorted();
  const fields = all.map((name) => `${toKey(name)}${names.every((own) => own.includes(name)) ? "" : "?"}: string`);
  return fields.length === 0 ? "{}" : `{ ${fields.join("; ")} }`;
}

/** The module's own type `Payload`; else what is known of the senders of its mappings. */
function findPayload(folder: string, name: string, sources: MappingSource[]): string {
  if (exportsPayload(path.join(folder, name))) return `import("./${JSON.stringify(name).slice(1, -1)}").Payload`;
  return toUnion(sources.map((source) => findSenderPayload(folder, name, source)));
}

function exportsPayload(file: string): boolean {
  if (!/\.[cm]?ts$/.test(file)) return false;
  const text = orElse("", () => readFileSync(file, "utf8"));
  return /^export\s+(?:(?:interface|type)\s+Payload\b|(?:type\s+)?\{[^}]*\bPayload\s*[,}])/m.test(text);
}

function findSenderPayload(folder: string, name: string, { preset, baseDir, mapping }: MappingSource): string {
  if (mapping.schedule) return "{ schedule: string; at: string; local: string }";
  if (preset !== undefined && isBuiltIn(baseDir)) return `import("hookline/presets").${toTypeName(preset)}`;
  if (preset !== undefined) return renderSamples(path.join(baseDir, "samples"), toOpenType);
  return renderSamples(path.join(folder, `${name.replace(/\.\w+$/, "")}.samples`), toClosedType);
}

function renderSamples(folder: string, toType: (shape: Shape, indent: string) => string): string {
  const shape = createShape();
  for (const payload of readPayloads(folder)) addValue(shape, payload);
  return toType(shape, "      ");
}

/** A text that a variable decides is not in the types. */
function toLiteral(text: string): string {
  return text.includes("${") ? "string" : JSON.stringify(text);
}

function toUnion(types: string[]): string {
  const members = [...new Set(types)];
  const wide = ["unknown", "string"].find((type) => members.includes(type));
  return wide ?? (members.length === 0 ? "never" : members.join(" | "));
}
