import { compileSchema } from "../ajv.ts";
import { toConfigProblem } from "../check-schema.ts";
import { error, type Finding } from "../finding.ts";
import type { Preset } from "../generated.ts";
import { appendSegment } from "../key-path.ts";
import type { PresetUse, ResolvedConfig } from "../resolved.ts";

/** A value that a preset is given, and the configuration's key that it stands at. */
export interface Parameter {
  value: unknown;
  key: string;
}

/** The parameters of a use by name: its own, and for `mail` the settings of `hooks.mail` behind them. */
export function gatherParameters(
  preset: Preset,
  use: PresetUse,
  mail: ResolvedConfig["hooks"]["mail"],
): Map<string, Parameter> {
  const settings = preset.name === "mail" ? Object.entries(mail) : [];
  const declared = settings.filter(([name]) => Object.hasOwn(preset.parameters ?? {}, name));
  return new Map([
    ...declared.map(toParameter("hooks.mail")),
    ...Object.entries(use.with).map(toParameter(`${use.key}.with`)),
  ]);
}

/** Checks the parameters against what the preset declares. */
export function checkParameters(
  preset: Preset,
  use: PresetUse,
  parameters: Map<string, Parameter>,
): Finding[] {
  const { parameters: properties = {}, required = [] } = preset;
  const check = compileSchema({ properties, required, additionalProperties: false }, { all: true });
  const values = [...parameters].map(([name, { value }]) => [name, value]);
  return check(Object.fromEntries(values)).map((problem) => {
    const [name = "", ...rest] = problem.segments;
    const key = parameters.get(String(name))?.key ?? appendSegment(`${use.key}.with`, name);
    return error(rest.reduce<string>(appendSegment, key), toConfigProblem(problem).message);
  });
}

function toParameter(parent: string) {
  return ([name, value]: [string, unknown]): [string, Parameter] => [
    name,
    { value, key: appendSegment(parent, name) },
  ];
}
