const MOST_CHARACTERS = 512;

/** A Message-ID header's value as `Mail.id` holds it; undefined where it holds none. */
export function toMailId(header: string | undefined): string | undefined {
  const id = /<([^<>\s]+)>/.exec(header ?? "")?.[1] ?? header?.trim().replace(/^[<\s]+|[>\s]+$/g, "");
  return id ? id.slice(0, MOST_CHARACTERS) : undefined;
}
