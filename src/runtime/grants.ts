import type { MappingInput } from "../config/schema/generated.ts";
import type { ResolvedConfig } from "../config/types.ts";
import type { ConfigProblem } from "../errors.ts";
import { appendSegment, toObject } from "../shared/json.ts";
import { withPeriod } from "../shared/text.ts";
import type { OpenCall, ToolSets } from "../tools/tool-sets.ts";

interface WrittenGrants {
  grants: MappingInput["grants"];
  key: string;
  file: string | undefined;
}

/** Granted calls that do not exist, and fixed arguments that their calls do not take. Rules report a set that does not exist. */
export function findGrantProblems({ hooks, agents, file }: ResolvedConfig, tools: ToolSets): ConfigProblem[] {
  const all: WrittenGrants[] = [
    ...hooks.mappings.map(({ mapping, ...source }) => ({
      grants: mapping.grants,
      key: `${source.key}.grants`,
      file: source.file,
    })),
    { grants: hooks.agent.grants, key: "hooks.agent.grants", file },
    { grants: agents.heartbeat.grants, key: "agents.defaults.heartbeat.grants", file },
  ];
  return all.flatMap((written) => findProblems(written, tools));
}

function findProblems({ grants = {}, key, file }: WrittenGrants, tools: ToolSets): ConfigProblem[] {
  return Object.entries(grants).flatMap(([name, written]) => {
    const at = appendSegment(key, name);
    const [set = ""] = name.split(".", 1);
    if (name.includes("*") || !tools.sets.has(set)) return [];
    const call = tools.find(name);
    if (!call) return [{ file, key: at, message: withPeriod(tools.explainMissing(name)) }];
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
