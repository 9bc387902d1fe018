import { tryBox } from "../../agents/workspace/box.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { isObject, readPath, toObject } from "../../core/shared/json.ts";
import { formatCount } from "../format.ts";
import { type CheckResult, note, ok, problem } from "./doctor-machine.ts";

/** A provider that runs a program. */
interface ProgramProvider {
  name: string;
  isBoxed: boolean;
  model: string | undefined;
  hosts: string[];
  /** Variables that the program can read. */
  variables: string[];
  /** The mappings whose turns it runs; of a template, all. */
  mappings: string[];
  /** The calls that they allow without a person. */
  allowed: string[];
}

export interface AgentsConfig extends Pick<ResolvedConfig["agents"], "model" | "models"> {
  providers: Record<string, { kind?: unknown; sandbox?: unknown; env?: unknown }>;
}

function listPrograms({ agents, hooks }: Pick<ResolvedConfig, "agents" | "hooks">): ProgramProvider[] {
  return Object.entries(agents.providers).flatMap(([name, block]) => {
    if (block.kind !== "acp" && block.kind !== "command") return [];
    const own = hooks.mappings.filter(
      ({ mapping: { agent, model } }) => agent !== "none" && isOf(name, model ?? agents.model, agents),
    );
    const calls = own.flatMap(({ mapping }) => listCalls(mapping.grants));
    return [
      {
        name,
        ...readBounds(block),
        mappings: own.map(({ id }) => id),
        allowed: [...new Set(calls.filter(({ mode }) => mode === "allow").map(({ call }) => call))],
      },
    ];
  });
}

function readBounds({
  sandbox,
  env,
}: AgentsConfig["providers"][string]): Pick<ProgramProvider, "isBoxed" | "model" | "hosts" | "variables"> {
  const hosts = readPath(sandbox, ["hosts"]);
  const model = readPath(sandbox, ["model"]);
  return {
    isBoxed: sandbox !== false,
    model: typeof model === "string" ? model : undefined,
    hosts: Array.isArray(hosts) ? hosts.map(String) : [],
    variables: Object.keys(toObject(env)),
  };
}

function isOf(provider: string, model = "", { models }: AgentsConfig): boolean {
  const id = models?.find(({ alias }) => alias === model)?.id ?? model;
  return id.startsWith(`${provider}/`) || id.includes("{{");
}

/** The grants of an action, or as a mapping has them. */
type Grants = readonly { call: string; mode: string }[] | Record<string, unknown> | null;

function listCalls(grants: Grants = {}): { call: string; mode: string }[] {
  if (Array.isArray(grants)) return grants;
  return Object.entries(toObject(grants)).map(([call, written]) => ({
    call,
    mode: String(isObject(written) ? written["mode"] : written),
  }));
}

/** A turn that was tried, or that a mapping starts. */
interface TriedTurn {
  model?: string;
  agent?: string;
  grants?: Grants;
}

/** A line for each of these turns that a program runs: what reaches it, and what it can do. */
export function describeReach(turns: readonly TriedTurn[], agents: AgentsConfig): string[] {
  const lines = turns.flatMap(({ model, agent, grants }) => {
    const [name, block] =
      Object.entries(agents.providers).find(([provider]) => isOf(provider, model ?? agents.model, agents)) ?? [];
    if (name === undefined || agent === "none" || (block?.kind !== "acp" && block?.kind !== "command")) return [];
    const bounds = readBounds(block);
    if (!bounds.isBoxed) return [`agent ${name} is not in a sandbox: outside text can run commands as this user`];
    const calls = listCalls(grants).map(({ call, mode }) => `${call} (${mode})`);
    return [`agent ${name}: ${[...describeBounds(bounds), `calls: ${calls.join(", ") || "none"}`].join("; ")}`];
  });
  return [...new Set(lines)];
}

/** A line for each provider that runs a program: its bounds, and who can have it run. */
export function describePrograms(config: Pick<ResolvedConfig, "agents" | "hooks">): string[] {
  return listPrograms(config).map((program) => `agent ${program.name}: ${describeProgram(program)}`);
}

function describeProgram({ mappings, allowed, ...bounds }: ProgramProvider): string {
  return [
    ...describeBounds(bounds),
    ...(bounds.isBoxed && allowed.length > 0
      ? [`scripts that it runs can call ${allowed.join(", ")} too, without a person`]
      : []),
    mappings.length > 0 ? `${formatCount(mappings.length, "mapping")}: ${mappings.join(", ")}` : "no mapping",
  ].join("; ");
}

function describeBounds({ isBoxed, model, hosts, variables }: ReturnType<typeof readBounds>): string[] {
  return [
    isBoxed ? "in a sandbox" : "not in a sandbox",
    ...(isBoxed ? [model === undefined ? "no model" : `model ${model}`] : []),
    ...(hosts.length > 0 ? [`hosts ${hosts.join(", ")} (what a turn has read can leave there)`] : []),
    ...(variables.length > 0 ? [`it can read ${variables.join(", ")}`] : []),
  ];
}

/** Each provider that runs a program, and whether a sandbox can be made here. */
export async function checkPrograms(config: Pick<ResolvedConfig, "agents" | "hooks">): Promise<CheckResult[]> {
  const programs = listPrograms(config);
  const failure = programs.some(({ isBoxed }) => isBoxed) ? tryBox() : undefined;
  return programs.flatMap((program) => {
    const name = `agent ${program.name}`;
    if (program.isBoxed && failure !== undefined) return [problem(name, `no sandbox can be made: ${failure}`, NEXT)];
    const about = ok(name, describeProgram(program));
    if (program.isBoxed || program.mappings.length === 0) return [about];
    const after = program.mappings.join(", ");
    const message = `${program.name} is not in a sandbox: after ${after}, outside text can run commands as this user`;
    return [about, note("content", message)];
  });
}

const NEXT =
  "in a container, set security_opt to docs/deploy/seccomp-agents.json, systempaths=unconfined and apparmor=unconfined; on Ubuntu, sysctl kernel.apparmor_restrict_unprivileged_userns=0";
