import { toPrintable } from "../telemetry/to-printable.ts";

/** Actions as a person reads them: the kind, then a field a line; a text of several lines stands below its name. */
export function printActions(actions: object[]): string[] {
  if (actions.length === 0) return ["skipped: no action"];
  return actions.flatMap((action) =>
    Object.entries(action).flatMap(([name, value]: [string, unknown]) => printField(name, value)),
  );
}

function printField(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (typeof value !== "string") return [`  ${name}: ${JSON.stringify(value)}`];
  if (name === "kind") return [value];
  const text = toPrintable(value);
  if (!text.includes("\n")) return [`  ${name}: ${text}`];
  return [`  ${name}:`, ...text.split("\n").map((line) => `    ${line}`.trimEnd())];
}
