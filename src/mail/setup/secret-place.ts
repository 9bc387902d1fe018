import path from "node:path";
import { ConfigError } from "../../errors.ts";

/** Where a secret is, or the secret itself. */
export type SecretPlace =
  | { kind: "env"; name: string }
  /** Absolute. */
  | { kind: "file"; file: string }
  | { kind: "text"; text: string };

/** A secret as a configuration names it, without ever holding it. */
export interface NamedSecret {
  /** `${NAME}` or `${file:PATH}`. */
  reference: string;
  /** A file that must be written first: its absolute path and its text. */
  unwritten?: readonly [file: string, text: string];
}

/** Names a secret in a configuration of the folder `baseDir`. One that is only known as text goes into `ownFile`. */
export function nameSecret(
  place: SecretPlace,
  { baseDir, ownFile }: { baseDir: string; ownFile: string },
): NamedSecret {
  if (place.kind === "env") return { reference: `\${${requireName(place.name)}}` };
  const file = place.kind === "file" ? place.file : ownFile;
  const reference = `\${file:${toWrittenPath(file, baseDir)}}`;
  return place.kind === "file" ? { reference } : { reference, unwritten: [ownFile, `${place.text}\n`] };
}

/** Whether a value as it is written takes a secret from elsewhere. */
export function isReference(written: unknown): written is string {
  return typeof written === "string" && /(?<!\$)\$\{(?:[A-Za-z_]\w*|file:[^}]+)\}/.test(written);
}

function requireName(name: string): string {
  if (/^[A-Za-z_]\w*$/.test(name)) return name;
  throw new ConfigError([
    { message: "That is no name of an environment variable: expected one such as MAIL_PASSWORD." },
  ]);
}

/** Relative to the configuration where it lies below it, so that both can move together. */
function toWrittenPath(file: string, baseDir: string): string {
  const relative = path.relative(baseDir, file);
  const isBelow = !relative.startsWith("..") && !path.isAbsolute(relative);
  const written = isBelow ? relative.split(path.sep).join("/") : file;
  if (!written.includes("}")) return written;
  throw new ConfigError([{ file, message: "a file with } in its path cannot be named in a configuration" }]);
}
