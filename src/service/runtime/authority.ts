import type { MappingInput } from "../../core/config/schema/generated.ts";
import type { HookToken, MappingSource } from "../../core/config/resolved-config.ts";
import type { CompiledMapping } from "../../core/mapping/compile.ts";
import { toGrants } from "../../core/mapping/policy/grants.ts";
import { compileCallPattern } from "../../core/mapping/pattern.ts";
import type { AuthorityRow } from "../../core/ports/authority.ts";
import type { OpenCall } from "../../core/ports/open-tool-sets.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { mayBeAnswered, findVendor } from "../../core/ports/vendor.ts";
import { SOURCE_CHANNEL, toChannelName } from "../../core/shared/channel-names.ts";
import { toObject } from "../../core/shared/json.ts";
import { literalStart } from "../../core/shared/template-values.ts";
import { BUILT_IN_HOOKS, type Grant, isChangeCall, isPresetCall } from "../../core/types.ts";

type Loaded = Pick<Runtime, "config" | "mappings" | "channels" | "tools" | "drivers">;

/** A row for each credential: those of senders in the order of their mappings, then the tokens, then heartbeats. */
export function listAuthority(runtime: Loaded): AuthorityRow[] {
  const { config, mappings } = runtime;
  const signed = Map.groupBy(
    mappings.mappings.filter(({ credential }) => credential !== undefined),
    ({ credential }) => credential ?? "",
  );
  const open = mappings.mappings.filter(({ credential }) => credential === undefined);
  const limited = config.hooks.tokens.filter(({ hooks }) => hooks !== undefined);
  const rows = [
    ...[...signed].map(([credential, own]) => ({
      ...toRow(credential, own, runtime),
      // A schedule is the operator's own.
      isLimited: own.every(({ source }) => !source.mapping.schedule),
    })),
    ...limited.map((token) => ({ ...toTokenRow(token, open, runtime), isLimited: true })),
    ...toOwnRows(open, runtime).map((row) => ({ ...row, isLimited: false })),
  ];
  return rows.map(({ isLimited, ...row }) => ({
    ...row,
    sharedWith: isLimited
      ? rows
          .filter((other) => other.isLimited && other.credential !== row.credential && sharesSession(other, row))
          .map(({ credential }) => credential)
      : [],
  }));
}

function sharesSession(one: Pick<AuthorityRow, "continues">, other: Pick<AuthorityRow, "continues">): boolean {
  const isAny = [one, other].some(({ continues }) => continues.includes(""));
  return (
    (isAny && one.continues.length > 0 && other.continues.length > 0) ||
    one.continues.some((start) => other.continues.includes(start))
  );
}

type Row = Omit<AuthorityRow, "sharedWith">;

const NOTHING: Omit<Row, "hook" | "credential"> = {
  asks: [],
  tells: [],
  place: [],
  reads: [],
  writes: [],
  continues: [],
  approves: [],
  alone: [],
};

function toTokenRow({ name, hooks = [] }: HookToken, open: readonly CompiledMapping[], runtime: Loaded): Row {
  const credential = `token:${name}`;
  const own = open.filter(({ match: { path } }) => path === undefined || hooks.includes(path));
  const scope = runtime.mappings.sessions.ofToken(credential);
  const built = BUILT_IN_HOOKS.filter((hook) => hooks.includes(hook));
  const mapped = toRow(credential, own, runtime);
  return {
    ...merge([mapped, ...built.map((hook) => toBuiltInRow(hook, scope?.prefix, runtime))]),
    hook: hooks.join(", "),
    credential,
  };
}

/** The operator's own: all tokens without `hooks`, and the heartbeats. */
function toOwnRows(open: readonly CompiledMapping[], runtime: Loaded): Row[] {
  const credential = "token:default";
  const mapped = toRow(credential, open, runtime);
  const built = BUILT_IN_HOOKS.map((hook) => toBuiltInRow(hook, undefined, runtime));
  const hooks = [...BUILT_IN_HOOKS, ...(mapped.hook === "" ? [] : [mapped.hook])];
  const { grants, channel } = runtime.config.agents.heartbeat;
  const calls = toCalls(toGrants(grants), runtime);
  const heartbeat = {
    ...NOTHING,
    ...calls,
    tells: ["anyone"],
    continues: ["main"],
    hook: "heartbeat",
    credential: "heartbeat",
  };
  return [
    { ...merge([mapped, ...built]), hook: hooks.join(", "), credential },
    ...(grants ? [{ ...heartbeat, writes: unique([channel ?? "last", ...calls.writes]) }] : []),
  ];
}

/** `agent` delivers where the request says, `wake` adds to the main session. */
function toBuiltInRow(hook: (typeof BUILT_IN_HOOKS)[number], prefix = "", runtime: Loaded): Row {
  const row = { ...NOTHING, hook, credential: "", tells: ["anyone"] };
  if (hook === "wake") return { ...row, continues: ["main"] };
  const calls = toCalls(toGrants(runtime.config.hooks.agent.grants), runtime);
  return { ...row, ...calls, continues: [prefix], writes: unique(["any channel", ...calls.writes]) };
}

function toRow(credential: string, mappings: readonly CompiledMapping[], runtime: Loaded): Row {
  const hook = unique(mappings.map(({ match }) => match.path ?? "*")).join(", ");
  return { ...merge(mappings.map((mapping) => toMappingRow(mapping, runtime))), hook, credential };
}

function toMappingRow(mapping: CompiledMapping, runtime: Loaded): Row {
  const { source } = mapping;
  const { place = [], context = [], review } = source.mapping;
  const calls = toCalls(toGrants(source.mapping.grants), runtime);
  const isReview = review !== undefined;
  return {
    hook: "",
    credential: "",
    ...toStarts(source),
    place: [place].flat(),
    reads: unique([...context.map(({ call }) => toCallName(call)), ...calls.reads]),
    writes: unique([...listReplies(source.mapping, runtime), ...(isReview ? ["reviews"] : []), ...calls.writes]),
    continues: listSessions(mapping, runtime),
    approves: listAnswered(source, runtime),
    alone: unique([...(review === "approve" ? ["review: approve"] : []), ...calls.alone]),
  };
}

function toStarts({ id, mapping }: MappingSource): Pick<Row, "asks" | "tells"> {
  if (mapping.schedule) return { asks: [], tells: ["the clock"] };
  const { from, asks = from?.value !== undefined } = mapping;
  const entries = from ? [from.is].flat() : ["anyone"];
  if (asks) return { asks: [{ events: [mapping.id ?? id], from: entries }], tells: [] };
  return { asks: [], tells: ["anyone", ...entries.filter((entry) => entry.startsWith("!"))] };
}

/** Where the replies of a mapping go, in a word. */
function listReplies({ action, deliver, channel = "last", source }: MappingInput, { channels }: Loaded): string[] {
  if (deliver === false || (action !== undefined && action !== "agent")) return [];
  const names = Array.isArray(deliver) ? deliver.map((target) => target.channel) : [channel];
  return names.map((name) => {
    const isSource = name.trim() === SOURCE_CHANNEL;
    if (!isSource || !source) return name.includes("{{") ? "any channel" : name;
    const driver = channels.get(toChannelName(source.channel));
    if (!driver?.needsAllow) return "messages";
    return driver.name === "email" ? "mails" : "comments";
  });
}

/** The starts of the keys of all sessions that its requests can continue. Without a key, each has a new one. */
function listSessions(mapping: CompiledMapping, { mappings, config }: Loaded): string[] {
  const { sessionKey, transform, action } = mapping.source.mapping;
  if (action !== undefined && action !== "agent") return action === "wake" ? ["main"] : [];
  const { defaultSessionKey } = config.hooks;
  const template = mapping.templates.sessionKey;
  const prefix = mappings.sessions.ofMapping(mapping)?.prefix;
  const isWhole = template?.isStatic === true;
  return unique([
    ...(isWhole ? [template.render({}).trim()] : []),
    ...(template && !isWhole ? [prefix ?? literalStart(sessionKey ?? "")] : []),
    ...(transform ? [prefix ?? ""] : []),
    ...(!isWhole && defaultSessionKey !== undefined ? [defaultSessionKey] : []),
  ]);
}

/** The channel of the questions, if a message of this sender can answer them. */
function listAnswered({ preset, mapping: { auth, source } }: MappingSource, { config, drivers }: Loaded): string[] {
  const { channel, by = [] } = config.agents.approvals ?? {};
  if (channel === undefined || by.length === 0 || !auth || !mayBeAnswered(findVendor(drivers.vendors, preset)))
    return [];
  return toChannelName(source?.channel ?? "") === channel ? [channel] : [];
}

/** The granted calls: those that only read, that change something, and that need nobody. */
function toCalls(grants: readonly Grant[] = [], { tools, config }: Loaded): Pick<Row, "reads" | "writes" | "alone"> {
  const find = ({ fullName }: OpenCall): Grant | undefined =>
    grants.find(({ call }) => call === fullName) ?? grants.find(({ call }) => compileCallPattern(call)(fullName));
  const granted = tools.list().flatMap((call) => {
    const grant = find(call);
    return grant ? [{ mode: grant.mode, name: describeCall(call, grant) }] : [];
  });
  const names = (isOne: (mode: Grant["mode"]) => boolean): string[] =>
    granted.filter(({ mode }) => isOne(mode)).map(({ name }) => name);
  const changes = grants.filter(({ call }) => isChangeCall(call, config.forges));
  return {
    reads: names((mode) => mode === "read"),
    writes: [...names((mode) => mode !== "read"), ...changes.map(({ call }) => call)],
    alone: [
      ...names((mode) => mode === "allow"),
      ...changes.flatMap(({ call, mode }) => (mode === "allow" ? call : [])),
    ],
  };
}

/** With what the model fills: `tickets.create(title)`. */
function describeCall({ fullName, input }: OpenCall, grant: Grant): string {
  const { mode, free = mode === "allow" ? [] : undefined } = grant;
  const fixed = Object.keys(grant.arguments ?? {});
  const own = Object.keys(toObject(input["properties"])).filter(
    (name) => !fixed.includes(name) && free?.includes(name) !== false,
  );
  return `${fullName}(${own.join(", ")})`;
}

function toCallName(call: string): string {
  return isPresetCall(call) ? call.slice(call.lastIndexOf(".") + 1) : call;
}

/** Mappings whose events ask for the same of the same people are one entry. */
function merge(rows: readonly Row[]): Row {
  const all = (field: Exclude<keyof typeof NOTHING, "asks">): string[] => unique(rows.flatMap((row) => row[field]));
  const asks = Map.groupBy(
    rows.flatMap((row) => row.asks),
    ({ from }) => JSON.stringify(from),
  );
  return {
    hook: "",
    credential: "",
    asks: Array.from(asks.values(), (same) => ({
      events: unique(same.flatMap(({ events }) => events)),
      from: same[0]?.from ?? [],
    })),
    tells: all("tells"),
    // One that has none is anywhere.
    place: rows.some(({ place }) => place.length === 0) ? [] : all("place"),
    reads: all("reads"),
    writes: all("writes"),
    continues: all("continues"),
    approves: all("approves"),
    alone: all("alone"),
  };
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
