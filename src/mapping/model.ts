import type { ResolvedConfig } from "../config/resolved.ts";
import { HookError } from "../errors.ts";

/**
 * The model of a run as `provider/model`: the one that is named, by its id or its alias, else the configured one, if
 * there is one. Throws a 400 `HookError` for a name that is not on the list, where there is a list.
 */
export function resolveModel(
  name: string | undefined,
  { model, models }: ResolvedConfig["agents"],
): string | undefined {
  const wanted = name ?? model;
  const listed = models?.find(({ id, alias }) => id === wanted || alias === wanted);
  if (name !== undefined && models && !listed) {
    throw new HookError(400, "model_not_allowed", "model is not on the list of allowed models.");
  }
  return listed?.id ?? wanted;
}
