export type Keys = readonly (string | number)[];

/** A path in the template language: `payload.items.[0].some-key.[[x\]]` */
export function toPath(keys: Keys): string {
  return keys.map(toSegment).join(".");
}

function toSegment(key: string | number): string {
  if (typeof key === "string" && /^[A-Za-z_$][\w$-]*$/.test(key)) return key;
  return `[${String(key).replaceAll(/[\\\]]/g, String.raw`\$&`)}]`;
}
