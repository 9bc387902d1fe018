import { error, type Finding } from "../finding.ts";
import type { ResolvedConfig } from "../resolved.ts";
import { staticText } from "./static-text.ts";

/** A mapping's model that is known ahead of any request is on the enforced list: else each of its requests would get a 400. */
export function checkMappingModels({ hooks, agents: { models } }: ResolvedConfig): Finding[] {
  if (models === undefined) return [];
  const names = new Set(models.flatMap(({ id, alias }) => [id, alias]));
  return hooks.mappings.flatMap(({ mapping, key, file }) => {
    const model = staticText(mapping.model)?.trim();
    if (!model || names.has(model)) return [];
    const message = `"${model}" is not on the list agents.defaults.models, which is enforced`;
    return [{ ...error(`${key}.model`, message), file }];
  });
}
