import { isObject, readOwn, toObject, toText } from "../../shared/json.ts";
import { trimSlashes } from "../../shared/text/text.ts";
import type { MailSettings } from "../resolved-config.ts";
import type { Preset } from "../schema/generated.ts";
import { PRESET_SETTINGS } from "../settings.ts";
import { splitAdditions, withAdditions } from "./additions.ts";
import { resolveFrom } from "./from.ts";
import { type FillOptions, fillParameters, type Parameters, type ParameterUse, readAuth } from "./parameters.ts";
import { withReads } from "./reads.ts";
import { withWrites } from "./writes.ts";

/** A mailbox that a preset has its defaults from. With `only`, the mappings are for its mails alone. */
export interface Defaults {
  settings: MailSettings;
  only?: true;
}

/** A mapping of a preset with its parameters, not checked yet. */
interface FilledMapping {
  id: string;
  /** `mappings[0]`, with several mailboxes `mappings[0]-<mailbox>`, so that a problem finds the one that it came from. */
  key: string;
  value: Record<string, unknown>;
  uses: ParameterUse[];
}

export interface FillMappingsOptions extends Pick<FillOptions, "readFile"> {
  mailbox: Defaults | undefined;
  /** The names of `agents.tools`. */
  toolSets?: readonly string[];
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
