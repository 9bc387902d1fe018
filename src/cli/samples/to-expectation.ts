import { DEFAULTS } from "../../config/defaults.ts";
import { isObject } from "../../config/is-object.ts";
import { readSchema } from "../../config/schemas.ts";

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** What an action has where neither mapping nor transform says anything: left out of what is expected. */
const AS_USUAL: Record<string, unknown> = {
  mode: "now",
  wakeMode: "now",
  deliver: true,
  channel: "last",
  sessionKey: "hook:<uuid>",
  timeoutSeconds: DEFAULTS.agents.defaults.timeoutSeconds,
  allowUnsafeExternalContent: false,
};

/** The order in which fields are written and compared; others come after. */
const ORDER = Object.keys(readSchema("action")["properties"] ?? {});

/**
 * Actions in the form in which they are expected: short, and the same at each run. A random id, which is one that
 * the sample's `body` does not hold, stands as `<uuid>`.
 */
export function toExpectation(actions: unknown, body: string): object[] {
  const text = JSON.stringify(actions).replace(UUID, (id) => (body.includes(id) ? id : "<uuid>"));
  const settled: unknown = JSON.parse(text);
  return Array.isArray(settled) ? settled.filter(isObject).map(withoutUsual) : [];
}

function withoutUsual(action: object): object {
  const fields = Object.entries(action).filter(([name, value]) => AS_USUAL[name] !== value);
  return Object.fromEntries(fields.toSorted(([one], [other]) => placeOf(one) - placeOf(other)));
}

function placeOf(field: string): number {
  const place = ORDER.indexOf(field);
  return place === -1 ? ORDER.length : place;
}
