import { stringify } from "../yaml.ts";

/** A value in block style, every line at the column and with its line break. */
export function toBlock(value: unknown, column: number, unit: number): string {
  const margin = " ".repeat(column);
  return stringify(value, { indent: unit, lineWidth: 0, blockQuote: false }).replace(/^(?=.)/gm, margin);
}

/** A value on one line, in flow style: it may stand anywhere. */
export function toFlow(value: unknown): string {
  return stringify(value, {
    collectionStyle: "flow",
    lineWidth: 0,
    defaultStringType: "QUOTE_DOUBLE",
    defaultKeyType: "PLAIN",
  }).trim();
}

/** A value on one line, its quotes those of the scalar whose place it takes. */
export function toScalar(value: unknown, type: string | undefined): string {
  if (typeof value !== "string" || /[\n\r]/.test(value)) return toFlow(value);
  if (type === "QUOTE_SINGLE") return `'${value.replaceAll("'", "''")}'`;
  return type === "PLAIN" ? stringify(value, { lineWidth: 0 }).trim() : toFlow(value);
}
