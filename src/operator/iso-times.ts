/** A record with its times, all fields named `…At`, `…Since`, `at` or `since`, in ISO 8601. */
export type View<Item> = {
  [Name in keyof Item]: Name extends TimeName ? (Item[Name] extends number ? string : string | undefined) : Item[Name];
};
type TimeName = `${string}At` | `${string}Since` | "at" | "since";

/** Converts the record's own times, not those of records inside it. */
export function toView<Item extends object>(item: Item): View<Item>;
export function toView(item: object): object {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, isTime(name, value) ? toIso(value) : value]),
  );
}

function isTime(name: string, value: unknown): value is number {
  return typeof value === "number" && /At$|^at$|^since$|Since$/.test(name);
}

export function toIso(time: number): string {
  return new Date(time).toISOString();
}
