import { describeThrown } from "./describe-thrown.ts";

/** One argument of `console.log` as text. Never throws. */
export function printValue(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return printOther(value);
  } catch {
    return `[${typeof value} that cannot be printed]`;
  }
}

function printOther(value: unknown): string {
  if (typeof value === "function") return `[function ${value.name || "(anonymous)"}]`;
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Error) return describeThrown(value).message;
  if (value instanceof Map || value instanceof Set) {
    return `${value.constructor.name} ${JSON.stringify([...value])}`;
  }
  return JSON.stringify(value);
}
