import { isObject, toObject } from "../../shared/json.ts";
import { didYouMean } from "../../shared/text/text.ts";
import { isChangeCall } from "../../types.ts";
import { error, type Finding } from "../rules/finding.ts";
import type { Preset } from "../schema/generated.ts";
import type { PresetWrites } from "../resolved-config.ts";
import type { Parameters } from "./parameters.ts";

/** The account whose credential writes: `github`, `github:eu`. Its name is that of the tool set. */
function toAccount(channel: string, { account }: Parameters["values"]): string {
  return typeof account === "string" ? `${channel}:${account}` : channel;
}

/** The calls of a preset, if a use of it grants some; undefined: it grants none. */
export function findWrites(preset: Preset, { values, keyOf }: Parameters): PresetWrites | undefined {
  const { name, writes } = preset;
  if (!writes || listWriteNames(values["grants"], preset).length === 0) return undefined;
  const { channel, failure, calls } = writes;
  return { preset: name, account: toAccount(channel, values), failure, calls, key: keyOf("grants") };
}

/** The calls in `grants` that are the preset's own. */
export function listWriteNames(grants: unknown, preset: Preset): string[] {
  return Object.keys(toObject(grants)).filter((call) => toWriteName(call, preset) !== undefined);
}

/** `github.label` → `label`; undefined: it is no call of the preset. */
function toWriteName(call: string, { name, writes }: Preset): string | undefined {
  const own = call.startsWith(`${name}.`) ? call.slice(name.length + 1) : "";
  return writes && Object.hasOwn(writes.calls, own) ? own : undefined;
}

/** `github.…` of the preset github, which it does not have. A tool set may have its name. */
function isUnknown(call: string, preset: Preset, toolSets: readonly string[]): boolean {
  const isOwn = call.startsWith(`${preset.name}.`) && !toolSets.includes(preset.name);
  const isChange = preset.workspace !== undefined && isChangeCall(call, [preset.name]);
  return preset.writes !== undefined && isOwn && !isChange && toWriteName(call, preset) === undefined;
}

/** Grants of the preset's own calls that cannot be used. */
export function checkWrites(
  preset: Preset,
  { values, keyOf }: Parameters,
  { toolSets }: { toolSets: readonly string[] },
): Finding[] {
  const { name, writes } = preset;
  const known = Object.keys(writes?.calls ?? {}).map((call) => `${name}.${call}`);
  return Object.entries(toObject(values["grants"])).flatMap(([call, written]) => {
    const at = `${keyOf("grants")}["${call}"]`;
    if (isUnknown(call, preset, toolSets)) {
      const all = call.includes("*") ? `. Name each call: ${known.join(", ")}.` : didYouMean(call, known);
      return [error(at, `The preset "${name}" has no call "${call.slice(name.length + 1)}"${all}`)];
    }
    const own = toWriteName(call, preset);
    if (own === undefined) return [];
    const { mode, arguments: args } = typeof written === "string" ? { mode: written } : toObject(written);
    const [taken] = Object.keys(toObject(args)).filter((argument) =>
      Object.hasOwn(writes?.calls[own]?.place ?? {}, argument),
    );
    return [
      ...(mode === "read" ? [error(at, 'It changes something: grant "ask" or "allow".')] : []),
      ...(taken === undefined ? [] : [error(`${at}.arguments.${taken}`, "The event gives this argument. Remove it.")]),
    ];
  });
}

/** A mapping of a preset whose grants of the preset's calls are those of its account, at the place of the event. */
export function withWrites(
  mapping: Record<string, unknown>,
  preset: Preset,
  { values, id, toolSets }: { values: Parameters["values"]; id: unknown; toolSets: readonly string[] },
): Record<string, unknown> {
  const { grants, ...others } = mapping;
  const { writes } = preset;
  if (!writes || !isObject(grants)) return mapping;
  const entries = Object.entries(grants).flatMap(([call, written]): [string, unknown][] => {
    const own = toWriteName(call, preset);
    const write = own === undefined ? undefined : writes.calls[own];
    if (!write) return isUnknown(call, preset, toolSets) ? [] : [[call, written]];
    if (write.mappings?.includes(String(id)) === false) return [];
    const grant = typeof written === "string" ? { mode: written } : toObject(written);
    const args = { ...toObject(grant["arguments"]), ...write.place };
    const name = `${toAccount(writes.channel, values)}.${own}`;
    return [[name, { ...(write.retry && { retry: true }), ...grant, arguments: args }]];
  });
  return entries.length === 0 ? others : { ...others, grants: Object.fromEntries(entries) };
}
