/** A word that a shell takes as it is. */
const PLAIN = /^[\w@%+=:,./][\w@%+=:,./-]*$/;

/**
 * The program, as every text names it: it works where the package is in a folder, on the machine or in the image. The terminal
 * names it as the person has called it.
 */
export const PROGRAM = "npx hookline";

/**
 * A command of this program for a person to type. Every text that names one with values has it from here: values may come
 * from senders and servers, so each is one word for a shell, on one line, and no option.
 * @param command - the fixed words: `events show`
 */
export function toCommand(command: string, ...values: string[]): string {
  const words = values.map(toWord);
  const end = values.some((value) => value.startsWith("-")) ? ["--"] : [];
  return [PROGRAM, command, ...end, ...words].join(" ");
}

/** A value as one word of a POSIX shell. */
export function toWord(value: string): string {
  if (PLAIN.test(value)) return value;
  // A backtick would end a quotation, and a character that is not shown could hide the rest.
  const printable = value.replaceAll(/[`\p{C}\p{Zl}\p{Zp}]/gu, "?");
  return `'${printable.replaceAll("'", String.raw`'\''`)}'`;
}

const PACKAGE_NAME = /^(?:@[a-z\d][\w.-]*\/)?[a-z\d][\w.-]*$/i;
const MAX_PACKAGE_NAME = 214;

/** The name of the package that an import names: `date-fns` of `date-fns/fp`. Undefined if it cannot be one. */
export function toPackageName(specifier: string): string | undefined {
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  return name.length <= MAX_PACKAGE_NAME && PACKAGE_NAME.test(name) ? name : undefined;
}

/** Advice to install packages by their names alone: npm takes a path, `owner/name` or an address for a source of its own. */
export function adviseInstall(...names: string[]): string {
  if (names.some((name) => toPackageName(name) !== name)) throw new Error("not the name of a package");
  return `run "npm install ${names.join(" ")}" beside the transform`;
}
