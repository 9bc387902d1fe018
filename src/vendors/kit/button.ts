/** Our buttons begin with it, so that nobody takes those of other programs for them. */
const MARK = "hookline:";

/** The value of a button as the service keeps it. */
export function toMarked(value: string): string {
  return `${MARK}${value}`;
}

/** The value of a button of ours; undefined: it is another one. */
export function readMarked(text: unknown): string | undefined {
  return typeof text === "string" && text.startsWith(MARK) ? text.slice(MARK.length) : undefined;
}
