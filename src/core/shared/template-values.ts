import { messageOf } from "../errors.ts";
import { appendSegment, isObject, parsePath, readPath } from "./json.ts";

/**
 * Compiles the source of a template. Throws an `Error` that says what is wrong with it. `render` gives undefined if a value
 * is missing that the text cannot do without.
 */
export type CompileTemplate<Limit = unknown> = (source: string) => {
  render(context: object, limit?: Limit): string | undefined;
};

/** Gives a value with its templates filled in. undefined: its whole value is a template of something that is missing. */
type FillValue<Limit> = (context: object, limit?: Limit) => unknown;

function compileValue<Limit>(
  value: unknown,
  key: string,
  compile: CompileTemplate<Limit>,
  keepsTypes: boolean,
): FillValue<Limit> {
  if (typeof value === "string") return compileText(value, key, compile, keepsTypes);
  if (Array.isArray(value)) {
    const items = value.map((item, index) => compileValue(item, appendSegment(key, index), compile, keepsTypes));
    // JSON has no missing items.
    return (context, limit) => items.map((fill) => fill(context, limit) ?? null);
  }
  if (!isObject(value)) return () => value;
  return compileFields(value, key, compile, keepsTypes);
}

/**
 * Compiles every text in the fields. A field whose template names something that is missing is left out. `keepsTypes`: a
 * template that is the whole text keeps the type of what it names.
 */
export function compileFields<Limit>(
  fields: Record<string, unknown>,
  key: string,
  compile: CompileTemplate<Limit>,
  keepsTypes = true,
): (context: object, limit?: Limit) => Record<string, unknown> {
  const entries = Object.entries(fields).map(([name, child]): [string, FillValue<Limit>] => [
    name,
    compileValue(child, appendSegment(key, name), compile, keepsTypes),
  ]);
  return (context, limit) =>
    Object.fromEntries(
      entries.flatMap(([name, fill]) => {
        const value = fill(context, limit);
        return value === undefined ? [] : [[name, value]];
      }),
    );
}

/** `{{a.b[0]}}` alone. */
const WHOLE = /^\s*\{\{\s*([\w$][\w$.[\]-]*)\s*\}\}\s*$/;

function compileText<Limit>(
  text: string,
  key: string,
  compile: CompileTemplate<Limit>,
  keepsTypes: boolean,
): FillValue<Limit> {
  try {
    const template = compile(text);
    const path = keepsTypes ? parsePath(WHOLE.exec(text)?.[1] ?? "") : undefined;
    return path ? (context) => readPath(context, path) : (context, limit) => template.render(context, limit);
  } catch (error) {
    throw new Error(`${key}: ${messageOf(error)}`, { cause: error });
  }
}

/** A template that is one `{{#if …}}` as a whole gives nothing where the condition does not hold. */
const CONDITIONAL = /^\{\{#if [^{}]*\}\}((?:(?!\{\{(?:else|\^|\/if)).)*)\{\{\/if\}\}$/s;

/** The common start of all texts of a template: that up to the first placeholder. `path`: the value of `{{path}}`, if it is known. */
export function literalStart(template: string, path?: string): string {
  const [, body = template] = CONDITIONAL.exec(template.trim()) ?? [];
  let start = "";
  let rest = body;
  for (;;) {
    const [before = ""] = rest.split(/\\?\{\{/, 1);
    start += before;
    rest = rest.slice(before.length);
    const [known] = (path !== undefined && /^\{\{ *path *\}\}/.exec(rest)) || [];
    if (known === undefined) return start.trim();
    start += path;
    rest = rest.slice(known.length);
  }
}

/** The paths in a template, in their order: of `{{default headers.x-id payload.id}}` also `default`, since it could be a field. */
export function listTemplatePaths(template = ""): string[] {
  const expressions = template.match(/\{\{[^{}]*\}\}/g) ?? [];
  return expressions.flatMap((expression) => expression.replaceAll(/"[^"]*"/g, "").match(/[\w@][\w.@[\]-]*/g) ?? []);
}

/** Whether a field tells events apart, by its name: an id, or the time of a sender that has no id of an event. */
export function isIdPath(path: string): boolean {
  return /(?:id|guid|token|fingerprint|key|identifier|ts|etag|uri|html_url|eventTime|updatedAt)\]?$/i.test(path);
}
