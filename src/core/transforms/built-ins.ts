import { adviseInstall } from "../shared/text/command.ts";

/** Node's modules that need nothing of Node, and have npm packages of the same names. */
const ON_NPM = "assert buffer events path punycode querystring string_decoder url util".split(" ");

/** Node's modules whose functions are globals here. npm's `timers` is something else. */
const OF_GLOBALS: Record<string, string> = {
  timers: "module.exports = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };",
};

/** The code of one of Node's modules, if the realm has its functions. */
export function findGlobalModule(name: string): string | undefined {
  return OF_GLOBALS[name];
}

/** Globals to use instead of a module. */
const INSTEAD: Record<string, string> = {
  crypto: ' Use the global "crypto" instead.',
  "timers/promises": " Use the global setTimeout instead.",
};

/** `name` is without `node:`. */
export function isOnNpm(name: string): boolean {
  return ON_NPM.includes(name);
}

/** The name of one of Node's modules without its prefix. */
export function withoutPrefix(specifier: string): string {
  return specifier.replace(/^node:/, "");
}

/** Says why the author cannot import one of Node's modules, and what to do. */
export function refuseBuiltIn(specifier: string): string {
  const name = withoutPrefix(specifier);
  if (isOnNpm(name)) return `"${specifier}" is part of Node. npm has it as a package: ${adviseInstall(name)}.`;
  return `"${specifier}" is part of Node: a transform has no access to files, network or processes.${INSTEAD[name] ?? ""}`;
}

/** Says which of Node's modules a package needs, and what to do. */
export function refuseBuiltIns(packageName: string, specifiers: string[]): string {
  const names = [...new Set(specifiers.map(withoutPrefix))].toSorted();
  const which = names.length === 1 ? "which is part of Node" : "which are parts of Node";
  const needs = `The package "${packageName}" needs ${list(names)}, ${which}`;
  const left = names.filter((name) => !isOnNpm(name));
  if (left.length === 0) return `${needs}. npm has ${names.length === 1 ? "it" : "them"}: ${adviseInstall(...names)}.`;
  return `${needs}: a transform has none of Node's modules. Use a package that also runs in browsers.`;
}

function list(names: string[]): string {
  return new Intl.ListFormat("en").format(names.map((name) => `"${name}"`));
}
