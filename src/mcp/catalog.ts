import type { McpPrincipal } from "../core/config/resolved-config.ts";
import type { Publications } from "../core/journal/journal.ts";
import type { CompiledMapping } from "../core/mapping/compile.ts";
import { compileGlobs } from "../core/mapping/pattern.ts";
import { invalid, McpError } from "./errors.ts";
import { mayAsk, maySeeType } from "./scope.ts";
import type { EventArguments } from "../core/types.ts";

/** An event type that mappings publish now. */
export interface EventType {
  name: string;
  description: string;
  /** The names of its arguments. */
  arguments: string[];
  payloadSchema: object;
}

export interface Catalog {
  /** Event types that the principal may see, by name. */
  list(principal: McpPrincipal): Promise<EventType[]>;
  /** Throws an `McpError` if there is none that the principal may see. */
  require(principal: McpPrincipal, name: string): Promise<EventType>;
}

/** The event types that mappings publish: those that were published once, and those that mappings name. */
export function createCatalog(
  publications: Pick<Publications, "listTypes">,
  mappings: () => readonly CompiledMapping[],
): Catalog {
  return {
    async list(principal) {
      const published = await publications.listTypes();
      const schemas = new Map(published.map(({ name, payloadSchema }) => [name, payloadSchema]));
      const names = new Set([...schemas.keys(), ...mappings().flatMap(listNames)]);
      return [...names].toSorted().flatMap((name) => find(principal, name, schemas.get(name)) ?? []);
    },
    async require(principal, name) {
      const found = find(principal, name, {});
      if (found && mappings().some((mapping) => listNames(mapping).includes(name))) return found;
      const [known] = found ? await publications.listTypes(name) : [];
      if (found && known) return found;
      throw new McpError("notFound", "There is no such event.", { kind: "event" });
    },
  };

  function find(principal: McpPrincipal, name: string, payloadSchema: object | undefined): EventType | undefined {
    if (!maySeeType(principal, name)) return undefined;
    const type = findPublished(mappings(), name);
    // Hidden: the principal would see none of its events.
    if (!type || !Object.keys(principal.arguments).every((fixed) => type.arguments.includes(fixed))) return undefined;
    return { ...type, payloadSchema: payloadSchema ?? { type: "object" } };
  }
}

/** The event type as mappings publish it; undefined if none does. */
export function findPublished(
  mappings: readonly CompiledMapping[],
  name: string,
): Omit<EventType, "payloadSchema"> | undefined {
  const own = mappings.filter((mapping) => publishes(mapping, name));
  if (own.length === 0) return undefined;
  const names = own.flatMap(({ publish }) => publish?.names ?? []);
  const written = own.map(({ publish }) => publish?.description).find((text) => text !== undefined);
  const description = written ?? `An event of the webhook ${own[0]?.match.path}.`;
  return { name, description, arguments: [...new Set(names)] };
}

function publishes({ publish, match: { path = "" }, source: { mapping } }: CompiledMapping, name: string): boolean {
  if (!publish) return false;
  if (name === path) return true;
  if (mapping.event === undefined || !name.startsWith(`${path}.`)) return false;
  return mapping.events === undefined || compileGlobs(mapping.events)(name.slice(path.length + 1));
}

/** The names that are known without an event. */
function listNames({ publish, match: { path = "" }, source: { mapping } }: CompiledMapping): string[] {
  if (!publish) return [];
  if (mapping.event === undefined) return [path];
  return (mapping.events ?? []).filter((event) => !event.includes("*")).map((event) => `${path}.${event}`);
}

/** Throws an `McpError` unless the filter names arguments of the type, with values that the principal may see. */
export function requireFilter(principal: McpPrincipal, type: EventType, filter: EventArguments): void {
  if (!Object.keys(filter).every((name) => type.arguments.includes(name))) {
    throw invalid("arguments has a name that is not an argument of this event.");
  }
  if (!mayAsk(principal, filter)) throw new McpError("forbidden", "An argument has a value that is not allowed.");
}

/** An event type as `events/list` shows it to the principal. */
export function toListedType(
  { name, description, arguments: names, payloadSchema }: EventType,
  principal: McpPrincipal,
): object {
  const properties = names.map((argument) => [
    argument,
    Object.hasOwn(principal.arguments, argument)
      ? { enum: principal.arguments[argument] }
      : { type: ["string", "number", "boolean"] },
  ]);
  return {
    name,
    description,
    delivery: ["poll", "webhook"],
    inputSchema: { type: "object", properties: Object.fromEntries(properties), additionalProperties: false },
    payloadSchema,
  };
}
