import { isObject } from "../../shared/json.ts";
import type { DriverDefinition } from "../../plugin.ts";
import { builtInDrivers, type Drivers } from "../plugins.ts";
import { BUILT_CHECKS, createCheck, findBuiltCheck, type SchemaCheck } from "./validator.ts";

type Schema = Record<string, unknown>;

/** Gives the check for values that name no other drivers than `named` does. */
export type DriverCheck = (drivers: Drivers, named: unknown) => SchemaCheck;

/**
 * Prepares a check whose schema has a branch for each driver. At first only the branches of drivers that a value names are
 * compiled: there are about seventy, and to compile them all takes longer than the rest of a start. For a later value that
 * names another driver, all of them are compiled.
 */
export function createDriverCheck(
  name: "config" | "mapping",
  assemble: (drivers: Drivers) => [schema: Schema, ...references: Schema[]],
): DriverCheck {
  const known = new WeakMap<Drivers, { words: Set<string>; check: SchemaCheck }>();
  const builtIn = findBuiltCheck(name);
  return (drivers, named) => {
    if (builtIn && drivers === builtInDrivers) return builtIn;
    const words = new Set(listWords(named).filter((word) => isDriver(drivers, word)));
    const last = known.get(drivers);
    if (last && words.isSubsetOf(last.words)) return last.check;
    const compiled = last ? namesOf(drivers) : words;
    const [schema, ...references] = assemble(withSchemasOf(compiled, drivers));
    const check = createCheck(() => schema, { ...BUILT_CHECKS[name], references });
    known.set(drivers, { words: compiled, check });
    return check;
  };
}

/** All keys and texts within a value. */
function listWords(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(listWords);
  return isObject(value) ? Object.entries(value).flatMap(([key, part]) => [key, ...listWords(part)]) : [];
}

function namesOf(drivers: Drivers): Set<string> {
  return new Set(Object.values(drivers).flatMap((definitions) => Object.keys(definitions)));
}

function isDriver(drivers: Drivers, word: string): boolean {
  return Object.values(drivers).some((definitions) => Object.hasOwn(definitions, word));
}

/** The others keep their names, for the message about an unknown one. */
function withSchemasOf(words: ReadonlySet<string>, { agents, channels, mailSources, providers }: Drivers): Drivers {
  return {
    agents: reduce(agents),
    channels: reduce(channels),
    mailSources: reduce(mailSources),
    providers: reduce(providers),
  };

  function reduce<Definition extends DriverDefinition<unknown>>(
    definitions: Record<string, Definition>,
  ): Record<string, Definition> {
    return Object.fromEntries(
      Object.entries(definitions).map(([name, definition]) => [
        name,
        words.has(name) ? definition : { ...definition, schema: { type: "object" } },
      ]),
    );
  }
}
