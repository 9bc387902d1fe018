/** A path with placeholders for arguments: `/tickets/{id}`, `/files/{+name}`. */
export interface PathTemplate {
  /** The arguments that it reads. */
  names: string[];
  /** The path with its arguments percent-encoded. Throws a `RefusedArgument`. */
  render(args: Record<string, unknown>): string;
}

/** A value that would lead to another path than the operator wrote. */
export class RefusedArgument extends Error {
  override name = "RefusedArgument";
}

const PLACEHOLDER = /\{(\+?)([^{}]*)\}/g;

/** Throws an `Error` that says what is wrong with the template. */
export function compilePath(template: string): PathTemplate {
  const fixed = template.replaceAll(PLACEHOLDER, "x");
  if (!template.startsWith("/")) throw new Error("The path must begin with a slash.");
  if (/[{}]/.test(fixed)) throw new Error("The path has a brace that belongs to no {name}.");
  if (/[?#]/.test(fixed)) throw new Error("The path must not contain ? or #. Write the parameters into query.");
  if (findDanger(fixed)) {
    throw new Error("The path must not contain a segment . or .., a backslash or a control character.");
  }
  if (new URL(`http://host${fixed}`).pathname !== fixed)
    throw new Error("The path has characters that must be percent-encoded.");
  const names = Array.from(template.matchAll(PLACEHOLDER), ([, , name = ""]) => name);
  if (names.includes("")) throw new Error("The path has a placeholder without a name.");
  return {
    names,
    render(args) {
      const path = template.replaceAll(PLACEHOLDER, (_, plus: string, name: string) =>
        encode(name, args[name], plus === "+"),
      );
      // Two harmless values in one segment can be `..` together.
      const danger = PATH_RULES.findDanger(path);
      if (danger) throw new RefusedArgument(`The arguments make a path with ${danger}.`);
      return path;
    },
  };
}

function encode(name: string, value: unknown, keepsSlashes: boolean): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw new RefusedArgument(`The argument ${name} must be a text, a number or a boolean.`);
  }
  const text = String(value);
  if (text === "") throw new RefusedArgument(`The argument ${name} must not be empty.`);
  if (!text.isWellFormed()) throw new RefusedArgument(`The argument ${name} is no valid Unicode.`);
  const danger = PATH_RULES.findDanger(text);
  if (danger) throw new RefusedArgument(`The argument ${name} must not contain ${danger}.`);
  const parts = keepsSlashes ? text.split("/") : [text];
  // Some servers read two slashes as one, others as the beginning of a host.
  if (parts.includes("")) throw new RefusedArgument(`The argument ${name} must not have an empty segment.`);
  return parts.map(encodeURIComponent).join("/");
}

/** A server or a proxy may decode more than once. */
const MAX_DECODINGS = 8;

/** The tests of injections replace them. */
export const PATH_RULES = { findDanger };

/** The part of a text, or of its decoded form, that makes a server read another path. */
function findDanger(text: string): string | undefined {
  let decoded = text;
  for (let count = 0; count < MAX_DECODINGS; count += 1) {
    if (decoded.includes("\\")) return "a backslash";
    if (/\p{Cc}/u.test(decoded)) return "a control character";
    // A semicolon begins parameters of a segment: `..;x` is `..` for some servers.
    if (decoded.split("/").some((segment) => /^\.{1,2}(?:;|$)/.test(segment))) return "a segment . or ..";
    const next = decode(decoded);
    if (next === decoded) return undefined;
    decoded = next;
  }
  return "too many levels of percent-encoding";
}

/** Each valid escape on its own: a broken one must not hide the others. */
function decode(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
    Buffer.from(escapes.replaceAll("%", ""), "hex").toString("utf8"),
  );
}
