import type { MappingInput } from "../../core/config/schema/generated.ts";
import type { ResolvedConfig } from "../../core/config/types.ts";
import type { ConfigProblem } from "../../core/errors.ts";
import { type GrantRow, toGrants } from "../../core/mapping/policy/grants.ts";
import { compileCallPattern } from "../../core/mapping/pattern.ts";
import { appendSegment, toObject } from "../../core/shared/json.ts";
import { withPeriod, toolSetOf } from "../../core/shared/text/text.ts";
import type { OpenCall, ToolSets } from "../../core/ports/open-tool-sets.ts";
import type { Grant } from "../../core/types.ts";

interface WrittenGrants {
  /** The event, for a person. */
  after: string;
  grants: MappingInput["grants"];
  key: string;
  file: string | undefined;
}

/** What is granted: a row for each call, in the order of the configuration. */
export function listGrants(config: ResolvedConfig, tools: ToolSets): GrantRow[] {
  return listWritten(config).flatMap(({ after, grants }) => {
    const granted = toGrants(grants) ?? [];
    const find = ({ fullName }: OpenCall): Grant | undefined =>
      granted.find(({ call }) => call === fullName) ?? granted.find(({ call }) => compileCallPattern(call)(fullName));
    return tools.list().flatMap((call) => {
      const grant = find(call);
      return grant ? [toRow(after, call, grant)] : [];
    });
  });
}

function toRow(after: string, { fullName, input }: OpenCall, grant: Grant): GrantRow {
  const { mode, max = mode === "read" ? undefined : 1, free = mode === "allow" ? [] : undefined } = grant;
  const fixed = Object.keys(grant.arguments ?? {});
  const own = Object.keys(toObject(input["properties"])).filter(
    (name) => !fixed.includes(name) && free?.includes(name) !== false,
  );
  return { after, call: fullName, mode, free: own, fixed, ...(max !== undefined && { max }) };
}

function listWritten({ hooks, agents, file }: ResolvedConfig): WrittenGrants[] {
  return [
    ...hooks.mappings.map(({ mapping, id, ...source }) => ({
      after: id,
      grants: mapping.grants,
      key: `${source.key}.grants`,
      file: source.file,
    })),
    { after: "hooks.agent", grants: hooks.agent.grants, key: "hooks.agent.grants", file },
    { after: "heartbeat", grants: agents.heartbeat.grants, key: "agents.defaults.heartbeat.grants", file },
  ];
}

/** Granted calls that do not exist, and arguments that their calls do not take. Rules report a set that does not exist. */
export function findGrantProblems(config: ResolvedConfig, tools: ToolSets): ConfigProblem[] {
  return listWritten(config).flatMap((written) => findProblems(written, tools));
}

function findProblems({ grants = {}, key, file }: WrittenGrants, tools: ToolSets): ConfigProblem[] {
  return Object.entries(grants).flatMap(([name, written]) => {
    const at = appendSegment(key, name);
    const set = toolSetOf(name);
    if (name.includes("*") || !tools.sets.has(set)) return [];
    const call = tools.find(name);
    if (!call) return [{ file, key: at, message: tools.explainMissing(name) }];
    const { mode, arguments: args = {}, free } = typeof written === "string" ? { mode: written } : written;
    return [
      ...findArgumentProblems(call, args).map((message) => ({ file, key: `${at}.arguments`, message })),
      ...findFreeProblems(call, { mode, fixed: Object.keys(args), free }).map((message) => ({
        file,
        key: at,
        message,
      })),
      ...(mode === "allow" ? findOpenTemplates(call, args) : []).map((message) => ({
        file,
        key: `${at}.arguments`,
        message,
      })),
    ];
  });
}

function isFixed([, value]: [string, unknown]): boolean {
  return !JSON.stringify(value).includes("{{");
}

/** Names that do not exist, and what the call requires although the model cannot fill it. */
function findFreeProblems(
  { fullName, input }: OpenCall,
  {
    mode,
    fixed,
    free = mode === "allow" ? [] : undefined,
  }: { mode: string; fixed: string[]; free: string[] | undefined },
): string[] {
  if (!free) return [];
  const known = Object.keys(toObject(input["properties"]));
  const unknown = free.filter((name) => !known.includes(name));
  const required = Array.isArray(input["required"]) ? input["required"].map(String) : [];
  const missing = required.filter((name) => !fixed.includes(name) && !free.includes(name));
  return [
    ...unknown.map((name) => `${fullName} has no argument "${name}". It has: ${known.join(", ") || "none"}.`),
    ...missing.map(
      (name) => `${fullName} requires the argument "${name}", which is neither fixed in arguments nor named in free.`,
    ),
  ];
}

/** Nobody looks at what an event puts into the arguments of a call that needs nobody: the schema has to. */
function findOpenTemplates({ fullName, input }: OpenCall, args: Record<string, unknown>): string[] {
  return Object.entries(args)
    .filter((entry) => !isFixed(entry))
    .filter(([name]) => {
      const property = toObject(toObject(input["properties"])[name]);
      return property["pattern"] === undefined && property["enum"] === undefined;
    })
    .map(
      ([name]) =>
        `The argument "${name}" of ${fullName} comes from the event and nobody is asked: give it a pattern or an enum in the schema of the call, or grant "ask".`,
    );
}

function findArgumentProblems(call: OpenCall, args: Record<string, unknown>): string[] {
  const known = Object.keys(toObject(call.input["properties"]));
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  return [
    ...unknown.map((name) => `${call.fullName} has no argument "${name}". It has: ${known.join(", ") || "none"}.`),
    ...call.checkSome(Object.fromEntries(Object.entries(args).filter(isFixed))).map(withPeriod),
  ];
}
