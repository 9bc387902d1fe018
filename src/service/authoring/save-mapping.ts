import { existsSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { FromSchema } from "json-schema-to-ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { ConfigError, HookError } from "../../core/errors.ts";
import { isObject, readOwn, toObject } from "../../core/shared/json.ts";
import { isInside, orElse, readRegularFile, replaceFile } from "../../core/shared/system/files.ts";
import { isCode } from "../../core/transforms/source-boundary.ts";
import { createRequireBody, type RequireBody } from "../../operator/body.ts";
import { SAVE_SCHEMA } from "../../operator/saving.ts";
import { readMapping } from "../runtime/draft.ts";
import { type Change, diffValues, editConfig } from "./edit-config.ts";
import { inFile, listItems, readTarget, type Target } from "./target.ts";

const requireSave: RequireBody<FromSchema<typeof SAVE_SCHEMA>> = createRequireBody(SAVE_SCHEMA, "mapping");

interface SaveOptions {
  config: ResolvedConfig;
  env: NodeJS.ProcessEnv;
}

const MAX_BYTES = 1024 * 1024;

/**
 * Writes a mapping where it stands, and files below the folder of its transforms. Nothing is written if any of them is not as the
 * page has read it. Gives the absolute paths of what was written.
 */
export function saveMapping(body: unknown, { config, env }: SaveOptions): string[] {
  requireSave(body);
  const { files = {} } = body;
  if (config.file === undefined) throw refuse("The configuration is in no file: a program has made it.");
  const target = readTarget(config.file, env);
  const place = planMapping(body, target, config);
  const folder = place.transformsDir;
  const modules = Object.entries(files).map(([name, { text, expected }]) => {
    const file = path.join(folder, name);
    if (!isInside(file, folder) || !isCode(file) || name.includes("node_modules"))
      throw refuse(`${name} is no module below ${folder}.`);
    if (readText(file) !== expected) throw changed(file);
    return { file, text, expected };
  });
  const before = place.target.text ?? "";
  const after = orRefuse(() => editConfig(place.target.file, before, place.changes));
  const written: string[] = [];
  for (const { file, text, expected } of modules.filter((one) => one.text !== one.expected)) {
    replaceFile(file, text, { expected });
    written.push(file);
  }
  if (after !== before) {
    replaceFile(place.target.file, after, { expected: place.target.text ?? null });
    written.push(place.target.file);
  }
  return written;
}

interface Planned {
  /** The file that changes. */
  target: Target;
  changes: Change[];
  transformsDir: string;
}

/** The fields of a mapping that the page does not show. */
const HIDDEN = ["auth", "transform"];

function planMapping(
  { mapping: text, files = {}, expected }: FromSchema<typeof SAVE_SCHEMA>,
  target: Target,
  config: ResolvedConfig,
): Planned {
  const { mapping } = orRefuse(() => readMapping(text));
  const [module] = Object.keys(files);
  const call = module === undefined ? {} : { transform: { module } };
  if (expected === undefined) {
    const isTaken = config.hooks.mappings.some(({ id }) => id === mapping.id);
    if (isTaken) throw refuse(`There is a mapping "${mapping.id}" already: choose another id.`);
    const value = { ...mapping, ...call };
    return {
      target,
      changes: [{ kind: "add", path: ["hooks", "mappings"], value }],
      transformsDir: config.hooks.transformsDir,
    };
  }
  const source = config.hooks.mappings.find(({ id }) => id === expected["id"]);
  if (source?.preset !== undefined)
    throw refuse(`It belongs to the preset ${source.preset}: copy the preset to change it.`);
  const place = Number(/\d+/.exec(source?.key ?? "")?.[0] ?? Number.NaN);
  const found = listItems(target, ["hooks", "mappings"])[place];
  if (!source || !found || !isObject(found.item) || !isSame(found.item, expected))
    throw changed(source?.file ?? target.file);
  const item = toObject(found.item);
  const hidden = Object.fromEntries(HIDDEN.flatMap((name) => (name in item ? [[name, item[name]]] : [])));
  const value = withWrittenPath({ ...mapping, ...call, ...hidden }, item, expected);
  // The page shows the id also of a mapping that is written without one.
  if (!("id" in item) && mapping.id === expected["id"]) delete value["id"];
  return {
    target: inFile(target, found.file),
    changes: diffValues(item, value, found.at),
    transformsDir: source.transformsDir,
  };
}

/** Whether a mapping still is as the page has read it. */
function isSame(item: Record<string, unknown>, expected: Record<string, unknown>): boolean {
  const shown = Object.fromEntries(Object.entries(item).filter(([name]) => !HIDDEN.includes(name)));
  return isDeepStrictEqual(withWrittenPath({ ...expected, id: item["id"] }, item, expected), {
    ...shown,
    id: item["id"],
  });
}

/** The page shows the path of a hook with its references resolved: one that it has not changed stays as it is written. */
function withWrittenPath(
  value: Record<string, unknown>,
  item: Record<string, unknown>,
  expected: Record<string, unknown>,
): Record<string, unknown> {
  const [now, before, written] = [value, expected, item].map((one) => readOwn(one["match"], "path"));
  if (now === undefined || now !== before) return value;
  const match = { ...toObject(value["match"]), path: written };
  return { ...value, match };
}

function readText(file: string): string | null {
  return existsSync(file) ? orElse(null, () => readRegularFile(file, MAX_BYTES).toString("utf8")) : null;
}

function changed(file: string): HookError {
  return new HookError("changed_on_disk", {
    message: `${file} has changed since it was opened here. Nothing was written.`,
  });
}

function refuse(message: string): HookError {
  return new HookError("invalid_mapping", { message });
}

function orRefuse<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof ConfigError) throw refuse(error.problems[0]?.message ?? error.message);
    throw error;
  }
}
