// Tells a person's own new message from all others, which have more fields.

/** Whether all fields that have a value are known ones. */
export function hasOnly(fields: Record<string, unknown>, known: ReadonlySet<string>): boolean {
  return Object.entries(fields).every(([name, value]) => known.has(name) || value === undefined || value === null);
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

export function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
