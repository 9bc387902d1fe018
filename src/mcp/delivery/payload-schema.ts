import { ExactNumber } from "../../core/shared/exact-json.ts";
import { isObject } from "../../core/shared/json.ts";

/* The schema of a payload, from the payloads that were published. It holds names and types, and no values. */

const MAX_DEPTH = 5;
const MAX_PROPERTIES = 100;
/** In the whole schema. Names that differ from payload to payload would fill the memory. */
const MAX_ALL = 1000;
const MAX_NAME_LENGTH = 64;

interface Shape {
  type?: string | string[];
  properties?: Record<string, Shape>;
  items?: Shape;
}

/** The schema, widened so that the value fits: the same object if it does already. */
export function widenSchema(schema: Shape, value: unknown): Shape {
  let left: number | undefined;
  const takeRoom = (): boolean => {
    left ??= MAX_ALL - countProperties(schema);
    return left-- > 0;
  };
  return widen(schema, value, { depth: 0, takeRoom });
}

interface Place {
  depth: number;
  /** Whether another property may be added. */
  takeRoom(): boolean;
}

function widen(schema: Shape, value: unknown, place: Place): Shape {
  const type = typeOf(value);
  const types = [schema.type ?? []].flat();
  const widened = types.includes(type) ? schema : { ...schema, type: toType([...types, type]) };
  if (place.depth >= MAX_DEPTH) return widened;
  const below = { ...place, depth: place.depth + 1 };
  if (Array.isArray(value)) return widenItems(widened, value, below);
  return isObject(value) && type === "object" ? widenProperties(widened, value, below) : widened;
}

function widenItems(schema: Shape, items: unknown[], place: Place): Shape {
  const before = schema.items ?? {};
  const after = items.slice(0, MAX_PROPERTIES).reduce<Shape>((item, value) => widen(item, value, place), before);
  return after === before ? schema : { ...schema, items: after };
}

function widenProperties(schema: Shape, value: Record<string, unknown>, place: Place): Shape {
  const { properties = {} } = schema;
  let room = MAX_PROPERTIES - Object.keys(properties).length;
  const changed = Object.entries(value).flatMap(([name, child]): [string, Shape][] => {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!known && (room <= 0 || name.length > MAX_NAME_LENGTH || name === "__proto__" || !place.takeRoom())) return [];
    const after = widen(known ?? {}, child, place);
    if (!known) room -= 1;
    return after === known ? [] : [[name, after]];
  });
  return changed.length === 0 ? schema : { ...schema, properties: { ...properties, ...Object.fromEntries(changed) } };
}

function countProperties({ properties = {}, items }: Shape): number {
  const own = Object.values(properties).reduce((sum, shape) => sum + 1 + countProperties(shape), 0);
  return own + (items ? countProperties(items) : 0);
}

function toType(types: string[]): string | string[] {
  const sorted = types.toSorted();
  return sorted.length === 1 ? sorted[0]! : sorted;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return value instanceof ExactNumber ? "number" : typeof value;
}
