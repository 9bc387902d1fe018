import Handlebars from "handlebars";
import { findFacts } from "../../config/schema/build-facts.ts";
import { HookError } from "../../errors.ts";
import { mayBeRounded } from "../../shared/exact-json.ts";
import { readOwn, toText } from "../../shared/json.ts";
import { createWeakCache } from "../../shared/weak-cache.ts";
import type { Diagnostics } from "../diagnostics.ts";
import { ESCAPES, escapeValues, type Syntax } from "./escape.ts";
import { type Helper, HELPERS } from "./helpers.ts";
import { helperOf, is, isStatic, prepareSyntax, TemplateError, TEXT_HELPER } from "./syntax.ts";

export interface Template {
  /** The text is always the same. */
  isStatic: boolean;
  /** The context's own fields that it reads; `this` for the whole context. */
  fields: ReadonlySet<string>;
  /** Sees only the context's own fields. Throws a `HookError` if the text exceeds the budget. */
  render(context: object, budget?: Budget): string;
  /** Renders a text that identifies something. */
  renderKey(context: object, budget?: Budget): RenderedKey;
}

/**
 * incomplete: the key renders a missing or null value, or only blank ones, or reads an `item` or `index` that does not exist.
 * Its `text` would be the same for unrelated requests.
 */
export interface RenderedKey {
  text: string;
  incomplete: boolean;
}

/**
 * How much text the templates of one request may still write, in characters. Otherwise a harmless template over a crafted
 * payload (a list inside a list, the whole payload for each item) could fill the memory or block all other requests.
 */
export interface Budget {
  left: number;
  /** Which item of the request is rendered. */
  item: number;
  /** The context of an item with long numbers as they are in the body; undefined: it has none. */
  findExact?: (item: number) => object | undefined;
}

const CHARACTERS = 1_048_576;
const CHARACTERS_PER_BYTE = 8;
/** One turn of a loop takes about as long as writing this many characters. */
const TURN_COST = 32;

/** 1 Mi characters and eight times the size of the body, so that a large payload can be rendered several times. */
export function createBudget(bodyBytes = 0, findExact?: Budget["findExact"]): Budget {
  return { left: CHARACTERS + CHARACTERS_PER_BYTE * bodyBytes, item: 0, findExact };
}

/** The state of the current render. Rendering is synchronous, so one variable each is enough. */
let budget = createBudget();
let values = { total: 0, blank: 0, missing: 0 };
/** A number was written that JavaScript may have rounded. */
let hasLongNumber = false;

const handlebars = createHandlebars();

const COMPILE_OPTIONS = {
  noEscape: true,
  knownHelpersOnly: true,
  knownHelpers: Object.fromEntries(
    [TEXT_HELPER, ...Object.keys({ ...ESCAPES, ...HELPERS })].map((name) => [name, true]),
  ),
} as CompileOptions;

/** No inherited name is read. */
const NOTHING_INHERITED = { whitelist: Object.freeze(Object.create(null)), defaultValue: false };

const { helperMissing, blockHelperMissing, ...helpers } = handlebars.helpers;

/**
 * Handlebars takes these as they are, as for a partial. For a whole template it would copy and wrap all helpers at each render, which
 * takes longer than most templates.
 */
const RENDER_OPTIONS = {
  partial: true,
  helpers,
  hooks: { helperMissing, blockHelperMissing },
  protoAccessControl: { properties: NOTHING_INHERITED, methods: NOTHING_INHERITED },
};

/** By their syntax and text. */
const templates = createWeakCache<Template>();

/** Compiles a Handlebars template. Throws a `TemplateError` that says what is wrong with it. */
export function compileTemplate(source: string, syntax: Syntax = "plain"): Template {
  return templates.get(`${syntax} ${source}`, () => compile(source, syntax));
}

function compile(source: string, syntax: Syntax): Template {
  let parsed: ParsedTemplate | undefined;
  const facts = findFacts(`template ${syntax}`, source, () => {
    parsed = parseTemplate(source, syntax);
    return { isStatic: isStatic(parsed.program), fields: [...parsed.fields] };
  });
  let ready: Template["render"] | undefined;
  const render: Template["render"] = (context, limit) => {
    ready ??= compileProgram((parsed ?? parseTemplate(source, syntax)).program);
    parsed = undefined;
    return ready(context, limit);
  };
  const fields = new Set(facts.fields);
  return { isStatic: facts.isStatic, fields, render, renderKey: createRenderKey(render, fields) };
}

/** A template whose values are checked and escaped. */
interface ParsedTemplate {
  program: hbs.AST.Program;
  fields: Set<string>;
}

function parseTemplate(source: string, syntax: Syntax): ParsedTemplate {
  try {
    const program = handlebars.parse(acceptIndexNotation(source));
    const fields = prepareSyntax(program);
    escapeValues(program, syntax);
    return { program, fields };
  } catch (error) {
    throw error instanceof TemplateError ? error : toTemplateError(error, source);
  }
}

/** Handlebars generates its code at the first render: with all of it, a start with the preset github takes 1.4 times the CPU. */
function compileProgram(program: hbs.AST.Program): Template["render"] {
  const render = compilePlain(program) ?? compileBlocks(program);
  return (context, limit = createBudget()) => {
    const { left } = limit;
    budget = limit;
    hasLongNumber = false;
    const text = render(context);
    const exact = hasLongNumber ? limit.findExact?.(limit.item) : undefined;
    if (!exact) return text;
    limit.left = left;
    return render(exact);
  };
}

function compileBlocks(program: hbs.AST.Program): (context: object) => string {
  const render = handlebars.compile<object>(program, COMPILE_OPTIONS);
  return (context) => render(context, { ...RENDER_OPTIONS, data: { root: context } });
}

function createRenderKey(render: Template["render"], fields: Template["fields"]): Template["renderKey"] {
  const needed = ["item", "index"].filter((name) => fields.has(name));
  return (context, limit) => {
    if (needed.some((name) => readOwn(context, name) === undefined)) return { text: "", incomplete: true };
    values = { total: 0, blank: 0, missing: 0 };
    const text = render(context, limit);
    const { total, blank, missing } = values;
    return { text, incomplete: missing > 0 || (total > 0 && total === blank) };
  };
}

function createHandlebars(): typeof Handlebars {
  const instance = Handlebars.create();
  instance.unregisterHelper("log");
  instance.registerHelper(TEXT_HELPER, toShown);
  for (const [name, escape] of Object.entries(ESCAPES)) {
    instance.registerHelper(name, (value: unknown) => metered(escape(toShown(value))));
  }
  for (const [name, helper] of Object.entries(HELPERS)) {
    const call = createCall(helper);
    // The last argument is Handlebars' own.
    instance.registerHelper(name, (...given: unknown[]) => call(...given.slice(0, -1)));
  }
  instance.registerHelper("lookup", lookup);
  const { each } = instance.helpers;
  instance.registerHelper("each", function (this: unknown, list: unknown, options: Handlebars.HelperOptions) {
    const fn: Handlebars.TemplateDelegate = (item, turn) => {
      spend(TURN_COST);
      return options.fn(item, turn);
    };
    return each?.call(this, list, { ...options, fn });
  });
  return instance;
}

function createCall({ run, readsText, cost, showsMissing }: Helper): (...values: unknown[]) => unknown {
  return (first, ...rest) => {
    if (showsMissing && isMissing(first)) values.missing += 1;
    const read = readsText ? readText(first) : first;
    if (cost !== undefined && typeof read === "string") spend(cost * read.length);
    const value = run(read, ...rest);
    return typeof value === "string" && typeof first !== "string" ? written(value) : metered(value);
  };
}

/** A text that was made of another value. */
function written(text: string): string {
  hasLongNumber ||= mayBeRounded(text);
  return metered(text);
}

function metered<Value>(value: Value): Value {
  if (typeof value === "string") spend(value.length);
  return value;
}

/** The text that `{{value}}` writes. */
function toShown(value: unknown): string {
  const text = toText(value);
  values.total += 1;
  if (isMissing(value)) values.missing += 1;
  if (text.trim() === "") values.blank += 1;
  return typeof value === "string" ? metered(text) : written(text);
}

/** Converting a value to text costs its whole length, however little of it the template shows in the end. */
function readText(value: unknown): unknown {
  return typeof value === "string" || isMissing(value) ? value : written(toText(value));
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}

function spend(characters: number): void {
  budget.left -= characters;
  if (budget.left < 0) throw new HookError("payload_too_large");
}

/** Own fields only; header names in any case, as in a path. */
function lookup(object: unknown, key: unknown, { data }: Handlebars.HelperOptions): unknown {
  const name = metered(toText(key));
  const isHeaders = object === readOwn(data.root, "headers");
  return readOwn(object, isHeaders ? name.toLowerCase() : name);
}

/**
 * The parser's message has four lines: a summary, the place, a caret, and a list of token names that helps nobody, such as
 * `Expecting 'OPEN_ENDBLOCK', 'CONTENT', got 'EOF'`.
 */
function toTemplateError(error: unknown, source: string): TemplateError {
  const lines = String(error instanceof Error ? error.message : error).split("\n");
  const [summary = "", near, caret, expectation = ""] = lines;
  const lineNumber = error instanceof Handlebars.Exception ? error.lineNumber : undefined;
  const line = Number(/ on line (\d+)/.exec(summary)?.[1] ?? lineNumber ?? 1);
  if (near === undefined || caret === undefined) {
    return new TemplateError(`The template does not parse: ${summary.replace(/ - \d+:\d+$/, "")}.`, line);
  }
  const reason = explainExpectation(expectation, source);
  return new TemplateError(`The template does not parse: ${reason}.`, line, `${near}\n${caret}`);
}

function explainExpectation(expectation: string, source: string): string {
  if (/'OPEN_ENDBLOCK'.*got 'EOF'$/.test(expectation)) return "a block is not closed";
  if (source.lastIndexOf("{{") > source.lastIndexOf("}}")) return "a {{ is not closed";
  return "unexpected syntax at the mark";
}

/**
 * `messages[0].from`, `tags.0` and `labels['a.b/c']` as `messages.[0].from`, `tags.[0]` and `labels.[a.b/c]`, which the parser
 * knows. Text, quoted text, numbers and `\{{…}}` do not change.
 */
function acceptIndexNotation(source: string): string {
  return source.replace(MUSTACHE, (mustache) =>
    mustache.replace(INDEX, (found, ...keys: (string | undefined)[]) => {
      const key = keys.slice(0, 4).find((one) => one !== undefined);
      return key === undefined ? found : `.[${key}]`;
    }),
  );
}

const MUSTACHE = /(?<!\\)\{\{[^]*?\}\}/g;

/** Quoted text, numbers and keys in brackets are matched so that they are skipped; an index directly follows what it indexes. */
const INDEX =
  /"[^"]*"|'[^']*'|\.\[[^\]]*\]|(?<![\w.\]])\d+\.\d+|(?<=[^\s.(){}=|/~"'])\[(?:(\d+)|"([^"\]]*)"|'([^'\]]*)')\]|(?<=[\w\]])\.(\d+)(?![\w-])/g;

type Read = (context: object) => unknown;

/**
 * Compiles a prepared template that has only text, fields and helpers. Most have nothing else, and Handlebars generates code for
 * them: with it, a first render takes four times as long, and a later one as long. undefined: the template has blocks.
 */
function compilePlain(program: hbs.AST.Program): ((context: object) => string) | undefined {
  const parts = program.body.map((statement) => compileStatement(statement));
  if (!parts.every((part) => part !== undefined)) return undefined;
  return function render(context) {
    let text = "";
    for (const part of parts) text += typeof part === "string" ? part : toShown(part(context));
    return text;
  };
}

function compileStatement(statement: hbs.AST.Statement): string | Read | undefined {
  if (is(statement, "CommentStatement")) return "";
  if (is(statement, "ContentStatement")) return statement.value;
  if (!is(statement, "MustacheStatement") || helperOf(statement) !== TEXT_HELPER) return undefined;
  // Its only parameter is what it shows.
  return compileValue(statement.params[0]);
}

function compileValue(node: hbs.AST.Expression | undefined): Read | undefined {
  if (node === undefined) return undefined;
  if (is(node, "PathExpression")) return compilePath(node);
  if (is(node, "SubExpression")) return compileCall(node);
  if (is(node, "UndefinedLiteral")) return () => undefined;
  if (is(node, "NullLiteral")) return () => null;
  if (!is(node, "StringLiteral") && !is(node, "NumberLiteral") && !is(node, "BooleanLiteral")) return undefined;
  const { value } = node;
  return () => value;
}

/** `lookup` needs Handlebars' runtime. */
function compileCall({ path, params }: hbs.AST.SubExpression): Read | undefined {
  const helper = Object.hasOwn(HELPERS, path.original) ? HELPERS[path.original] : undefined;
  const reads = params.map((param) => compileValue(param));
  if (!helper || !reads.every((read) => read !== undefined)) return undefined;
  const run = createCall(helper);
  return (context) => run(...reads.map((read) => read(context)));
}

function compilePath({ data, depth, parts }: hbs.AST.PathExpression): Read | undefined {
  if (depth > 0 || (data && parts[0] !== "root")) return undefined;
  const keys = data ? parts.slice(1) : parts;
  return (context) => {
    let value: unknown = context;
    for (const key of keys) {
      if (value === undefined || value === null) return value;
      // A text has a length.
      value = readOwn(Object(value), key);
    }
    return value;
  };
}

/** Whether a condition says yes: it is not blank, and not `false`. */
export function isYes(condition: Template, context: object, limit: Budget): boolean {
  return !["", "false"].includes(condition.render(context, limit).trim());
}

/** Compiles the template of a mapping's field. Reports one that cannot be used, and gives undefined. */
export function compileField(
  field: string,
  source: string,
  diagnostics: Diagnostics,
  syntax?: Syntax,
): Template | undefined {
  try {
    return compileTemplate(source, syntax);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const place = source.includes("\n") ? `Line ${error.line} of the template: ` : "";
    diagnostics.problem(field, place + error.message, error.excerpt);
    return undefined;
  }
}
