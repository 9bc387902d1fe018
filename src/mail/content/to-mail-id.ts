import { cleanLine } from "./clean.ts";

const MOST_CHARACTERS = 512;

/** A Message-ID header's value as `Mail.id` holds it; undefined where it holds none. */
export function toMailId(header: string | undefined): string | undefined {
  const value = cleanLine(header ?? "");
  const id = /<([^<>\s]+)>/.exec(value)?.[1] ?? value.replaceAll(/[<>]/g, "").trim();
  return id ? cleanLine(id, MOST_CHARACTERS) : undefined;
}
