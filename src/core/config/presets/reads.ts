import { isObject, toObject } from "../../shared/json.ts";
import { PRESET_SET } from "../../types.ts";
import type { Preset } from "../schema/generated.ts";
import type { PresetReads, PresetUse } from "../resolved-config.ts";
import { type FillOptions, fillParameters, type Parameters } from "./parameters.ts";

/** The name of the tool set with the reads of a preset. No set of `agents.tools` can have it. */
function toSetName(values: Parameters["values"]): string {
  return `${PRESET_SET}${String(values["path"]).replaceAll(".", "-")}`;
}

/** The reads that a use of a preset names in `context`; undefined: none. */
export function findReads(
  { name, reads }: Preset,
  use: PresetUse,
  { values }: Pick<Parameters, "values">,
  readFile: FillOptions["readFile"],
): PresetReads | undefined {
  const names = [...new Set([...listReadNames(values["context"]), ...listUsualReads(values, reads)])];
  if (!reads || names.length === 0) return undefined;
  const { channel, baseUrl } = reads;
  const account = values["account"];
  const { readToken } = values;
  return {
    set: toSetName(values),
    preset: name,
    channel: channel !== undefined && typeof account === "string" ? `${channel}:${account}` : channel,
    baseUrl,
    readToken: typeof readToken === "string" ? readToken : undefined,
    calls: Object.fromEntries(
      names.flatMap((read) => {
        const call = reads.calls[read];
        const { value: template } = fillParameters(call?.template, `reads.calls.${read}.template`, {
          values,
          readFile,
        });
        return call ? [[read, { ...call, template: typeof template === "string" ? template : undefined }]] : [];
      }),
    ),
    key: `${use.key}.with.context`,
  };
}

/** An agent with the files of a failed run has its log too. */
const OF_WORKSPACES = "failed-log";

function listUsualReads({ workspace }: Parameters["values"], reads: Preset["reads"]): string[] {
  return workspace && reads && Object.hasOwn(reads.calls, OF_WORKSPACES) ? [OF_WORKSPACES] : [];
}

/** The names in `context` that stand for reads of a preset: `"diff"`, or `{ call: "diff", … }`. */
export function listReadNames(context: unknown): string[] {
  return Array.isArray(context) ? [...new Set(context.flatMap((entry) => findReadName(entry) ?? []))] : [];
}

/** A call of a tool set has a dot in its name. */
export function findReadName(entry: unknown): string | undefined {
  const name = isObject(entry) ? entry["call"] : entry;
  return typeof name === "string" && !name.includes(".") ? name : undefined;
}

/** A mapping of a preset whose `context` has calls in place of names. Reads that are not for it are left out. */
export function withReads(
  mapping: Record<string, unknown>,
  { reads }: Preset,
  { values, id }: { values: Parameters["values"]; id: unknown },
): Record<string, unknown> {
  const { context: written } = mapping;
  const usual = listUsualReads(values, reads).filter((name) => !listReadNames(written).includes(name));
  const context =
    Array.isArray(written) || usual.length > 0 ? [...usual, ...(Array.isArray(written) ? written : [])] : written;
  if (!reads || !Array.isArray(context)) return mapping;
  const calls = context.flatMap((entry: unknown) => {
    const name = findReadName(entry);
    if (name === undefined) return isObject(entry) ? [entry] : [];
    const read = reads.calls[name];
    if (!read || read.mappings?.includes(String(id)) === false) return [];
    const { title, arguments: args, when } = read;
    const own = { title, arguments: args, ...(when !== undefined && { when }) };
    return [{ ...own, ...toObject(entry), call: `${toSetName(values)}.${name}` }];
  });
  return { ...mapping, context: calls };
}
