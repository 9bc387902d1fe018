import { DriverError } from "../errors.ts";

/** What a turn's model says after the provider's name and the slash. Throws a lasting `DriverError` where that is nothing. */
export function requireModelId(provider: string, model: string | undefined): string {
  const prefix = `${provider}/`;
  if (model?.startsWith(prefix) && model.length > prefix.length) return model.slice(prefix.length);
  throw new DriverError("lasting", `Expected a model of the form ${prefix}<model>, got "${model ?? ""}".`);
}
