import { HookError } from "../errors.ts";

/** Parses `a=1&b=2`. A repeated field becomes an array. Throws 400 for percent-encoding that gives no UTF-8. */
export function parseForm(text: string): Record<string, string | string[]> {
  const fields = new Map<string, string | string[]>();
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    add(fields, name, equals === -1 ? "" : decode(pair.slice(equals + 1)));
  }
  // fromEntries defines own properties: a field named __proto__ stays a field.
  return Object.fromEntries(fields);
}

function add(fields: Map<string, string | string[]>, name: string, value: string): void {
  const known = fields.get(name);
  if (known === undefined) fields.set(name, value);
  else if (typeof known === "string") fields.set(name, [known, value]);
  else known.push(value);
}

function decode(encoded: string): string {
  const spaced = encoded.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new HookError(400, "invalid_form", "The form's percent-encoding is broken.");
  }
}
