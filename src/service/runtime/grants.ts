import type { MappingInput } from "../../core/config/schema/generated.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import type { ConfigProblem } from "../../core/errors.ts";
import { compileCallPattern } from "../../core/mapping/pattern.ts";
import { appendSegment, toObject, toText } from "../../core/shared/json.ts";
import { withPeriod, toolSetOf } from "../../core/shared/text/text.ts";
import { isChangeCall } from "../../core/types.ts";
import type { OpenCall, ToolSets } from "../../core/ports/open-tool-sets.ts";

interface WrittenGrants {
  grants: MappingInput["grants"];
  key: string;
  file: string | undefined;
}

function listWritten({ hooks, agents, file }: ResolvedConfig): WrittenGrants[] {
  return [
    ...hooks.mappings.map(({ mapping, ...source }) => ({
      grants: mapping.grants,
      key: `${source.key}.grants`,
      file: source.file,
    })),
    { grants: hooks.agent.grants, key: "hooks.agent.grants", file },
    { grants: agents.heartbeat.grants, key: "agents.defaults.heartbeat.grants", file },
  ];
}

/** Granted calls that do not exist, and arguments that their calls do not take. Rules report a set that does not exist. */
export function findGrantProblems(config: ResolvedConfig, tools: ToolSets): ConfigProblem[] {
  return listWritten(config).flatMap((written) => findProblems(written, tools, config));
}

/** Calls that are granted or read as context, and cannot be used: the service starts without them. */
export function findLeftOut(config: ResolvedConfig, tools: ToolSets): ConfigProblem[] {
  const granted = listWritten(config).flatMap(({ grants = {}, key, file }) =>
    Object.keys(grants).map((name) => ({ file, key: appendSegment(key, name), name })),
  );
  const read = config.hooks.mappings.flatMap(({ mapping: { context = [] }, key, file }) =>
    context.map(({ call }, index) => ({ file, key: `${key}.context[${index}].call`, name: call })),
  );
  return [...granted, ...read].flatMap(({ file, key, name }) =>
    listLeftOut(name, tools).map(([call, reason]) => ({
      file,
      key,
      message: withPeriod(`The call ${call} is left out: ${reason}`),
    })),
  );
}

/** OpenAI refuses more calls, and other models choose badly among more than these. */
const MAX_CALLS = 128;

/** Grants that give the model too many calls. */
export function findTooMany(config: ResolvedConfig, tools: ToolSets): ConfigProblem[] {
  const names = tools.list().map(({ fullName }) => fullName);
  return listWritten(config).flatMap(({ grants = {}, key, file }) => {
    const granted = Object.keys(grants).map(compileCallPattern);
    const count = names.filter((name) => granted.some((isGranted) => isGranted(name))).length;
    if (count <= MAX_CALLS) return [];
    const message = `The model is given ${count} calls, and some providers take ${MAX_CALLS} at most. Grant those that it needs.`;
    return [{ file, key, message }];
  });
}

function listLeftOut(pattern: string, { leftOut }: ToolSets): [call: string, reason: string][] {
  return [...leftOut].filter(([call]) => compileCallPattern(pattern)(call));
}

function findProblems(
  { grants = {}, key, file }: WrittenGrants,
  tools: ToolSets,
  { forges }: Pick<ResolvedConfig, "forges">,
): ConfigProblem[] {
  return Object.entries(grants).flatMap(([name, written]) => {
    const at = appendSegment(key, name);
    if (isChangeCall(name, forges)) {
      if (!tools.find(name)) return [];
      const message = `The tool set "${toolSetOf(name)}" has a call of this name, which stands for the changes of a workspace. Rename the set.`;
      return [{ file, key: at, message }];
    }
    const call = tools.find(name);
    if (!call) {
      const isKnown = tools.sets.has(toolSetOf(name)) && listLeftOut(name, tools).length === 0;
      if (!isKnown || tools.list().some(({ fullName }) => compileCallPattern(name)(fullName))) return [];
      return [{ file, key: at, message: withPeriod(tools.explainMissing(name)) }];
    }
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
function findOpenTemplates({ fullName, input, unchecked }: OpenCall, args: Record<string, unknown>): string[] {
  return Object.entries(args)
    .filter((entry) => !isFixed(entry))
    .filter(([name]) => {
      const { pattern, enum: values } = toObject(toObject(input["properties"])[name]);
      return values === undefined && (pattern === undefined || unchecked.has(toText(pattern)));
    })
    .map(
      ([name]) =>
        `The argument "${name}" of ${fullName} comes from the event and nobody is asked: give it a pattern or an enum in the schema of the call, or grant "ask".`,
    );
}

function findArgumentProblems(call: OpenCall, args: Record<string, unknown>): string[] {
  const known = Object.keys(toObject(call.input["properties"]));
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  const fixed = Object.entries(args).filter(isFixed);
  return [
    ...unknown.map((name) => `${call.fullName} has no argument "${name}". It has: ${known.join(", ") || "none"}.`),
    ...(fixed.length === 0 ? [] : call.checkSome(Object.fromEntries(fixed)).map(withPeriod)),
  ];
}
