import { isObject } from "../../shared/json.ts";

/** The TypeScript type of a JSON value, in which every field is optional. */
export function toTypeScript(value: unknown, indent = ""): string {
  if (Array.isArray(value)) return `${toItemType(value, indent)}[]`;
  if (!isObject(value)) return value === null ? "unknown" : typeof value;
  const inner = `${indent}  `;
  const fields = Object.entries(value).map(
    ([name, field]) => `${inner}${toKey(name)}?: ${toTypeScript(field, inner)};\n`,
  );
  return fields.length === 0 ? "object" : `{\n${fields.join("")}${indent}}`;
}

/** Objects are one type with the fields of all. */
function toItemType(items: unknown[], indent: string): string {
  if (items.length > 0 && items.every(isObject)) return toTypeScript(Object.assign({}, ...items), indent);
  const types = [...new Set(items.map((item) => toTypeScript(item, indent)))];
  if (types.length === 0 || types.includes("unknown")) return "unknown";
  return types.length === 1 ? types.join() : `(${types.join(" | ")})`;
}

function toKey(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
