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
    const args = typeof written === "string" ? {} : (written.arguments ?? {});
    return findArgumentProblems(call, args).map((message) => ({ file, key: `${at}.arguments`, message }));
  });
}

function findArgumentProblems(call: OpenCall, args: Record<string, unknown>): string[] {
  const isFixed = ([, value]: [string, unknown]): boolean => !JSON.stringify(value).includes("{{");
  const known = Object.keys(toObject(call.input["properties"]));
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  return [
    ...unknown.map((name) => `${call.fullName} has no argument "${name}". It has: ${known.join(", ") || "none"}.`),
    ...call.checkSome(Object.fromEntries(Object.entries(args).filter(isFixed))).map(withPeriod),
  ];
}
