import { BUILT_IN_HOOKS } from "../../types.ts";
import { error, type Finding, warning } from "../finding.ts";
import type { MappingSource, ResolvedConfig } from "../resolved.ts";

/** Every mapping can be reached, can give an action, and has an id of its own. */
export function checkMappings({ hooks }: ResolvedConfig): Finding[] {
  return hooks.mappings.flatMap((source, index) =>
    [
      ...checkId(source, hooks.mappings.slice(0, index)),
      ...checkPath(source),
      ...checkTemplates(source),
      ...checkRunSettings(source),
      ...checkAgentSettings(source),
    ].map((finding) => ({ ...finding, file: source.file })),
  );
}

function checkId(source: MappingSource, earlier: MappingSource[]): Finding[] {
  const first = earlier.find(({ id }) => id === source.id);
  return first ? [error(`${source.key}.id`, `"${source.id}" is the id of ${first.key} already`)] : [];
}

function checkPath({ mapping, key }: MappingSource): Finding[] {
  const name = mapping.match?.path?.replace(/^\/+|\/+$/g, "");
  return BUILT_IN_HOOKS.some((builtIn) => builtIn === name)
    ? [warning(`${key}.match.path`, `is never reached: the service answers ${name} itself`)]
    : [];
}

/**
 * A transform may turn one kind of action into the other, and needs no template: nothing is known of it here.
 */
function checkTemplates({ mapping, key }: MappingSource): Finding[] {
  if (mapping.transform) return [];
  const action = mapping.action ?? "agent";
  const [needed, useless] =
    action === "agent"
      ? (["messageTemplate", "textTemplate"] as const)
      : (["textTemplate", "messageTemplate"] as const);
  const findings: Finding[] = [];
  if (!mapping[needed]?.trim()) {
    findings.push(
      error(key, `could never give an action: action "${action}" needs a ${needed} or a transform`),
    );
  }
  if (mapping[useless] !== undefined) {
    findings.push(warning(`${key}.${useless}`, `has no effect: action "${action}" uses ${needed}`));
  }
  return findings;
}

/** What a wake adds to the main session is no run: there is nothing to hold back, and a heartbeat takes all that wait. */
function checkRunSettings({ mapping, key }: MappingSource): Finding[] {
  if (mapping.transform || mapping.action !== "wake") return [];
  return (["concurrency", "rateLimit", "coalesce", "agent"] as const)
    .filter((setting) => mapping[setting] !== undefined)
    .map((setting) => warning(`${key}.${setting}`, "has no effect on a wake: it is for agent runs"));
}

function checkAgentSettings({ mapping, key }: MappingSource): Finding[] {
  if (mapping.agent !== "none") return [];
  return (["instructions", "model", "thinking", "timeoutSeconds"] as const)
    .filter((setting) => mapping[setting] !== undefined)
    .map((setting) => warning(`${key}.${setting}`, 'has no effect: agent "none" asks no agent'));
}
