import { tryBox } from "../../agents/workspace/box.ts";
import type { ResolvedConfig } from "../../core/config/resolved-config.ts";
import { readPath, toObject } from "../../core/shared/json.ts";
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
}

function listPrograms({ agents, hooks }: Pick<ResolvedConfig, "agents" | "hooks">): ProgramProvider[] {
  return Object.entries(agents.providers).flatMap(([name, block]) => {
    if (block.kind !== "acp" && block.kind !== "command") return [];
    const { sandbox, env } = block;
    const hosts = readPath(sandbox, ["hosts"]);
    const model = readPath(sandbox, ["model"]);
    return [
      {
        name,
        isBoxed: sandbox !== false,
        model: typeof model === "string" ? model : undefined,
        hosts: Array.isArray(hosts) ? hosts.map(String) : [],
        variables: Object.keys(toObject(env)),
        mappings: hooks.mappings
          .filter(({ mapping: { agent, model: own } }) => agent !== "none" && isOf(name, own ?? agents.model))
          .map(({ id }) => id),
      },
    ];
  });

  function isOf(provider: string, model = ""): boolean {
    const id = agents.models?.find(({ alias }) => alias === model)?.id ?? model;
    return id.startsWith(`${provider}/`) || id.includes("{{");
  }
}

/** A line for each provider that runs a program: its bounds, and who can have it run. */
export function describePrograms(config: Pick<ResolvedConfig, "agents" | "hooks">): string[] {
  return listPrograms(config).map((program) => `agent ${program.name}: ${describeProgram(program)}`);
}

function describeProgram({ isBoxed, model, hosts, variables, mappings }: ProgramProvider): string {
  return [
    isBoxed ? "in a sandbox" : "not in a sandbox",
    ...(isBoxed ? [model === undefined ? "no model" : `model ${model}`] : []),
    ...(hosts.length > 0 ? [`hosts ${hosts.join(", ")} (what a turn has read can leave there)`] : []),
    ...(variables.length > 0 ? [`it can read ${variables.join(", ")}`] : []),
    mappings.length > 0 ? `${formatCount(mappings.length, "mapping")}: ${mappings.join(", ")}` : "no mapping",
  ].join("; ");
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
