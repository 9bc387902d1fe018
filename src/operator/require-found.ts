import { HookError } from "../errors.ts";

/** Gives what was looked for, or throws a 404 that says what there is none of. */
export function requireFound<Item>(item: Item | undefined, what: string): Item {
  if (item === undefined) throw new HookError(404, "not_found", `There is no such ${what}.`);
  return item;
}
