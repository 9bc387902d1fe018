import Handlebars from "handlebars";
import { HookError } from "../../errors.ts";
import { readOwn } from "../../shared/json.ts";
import { HELPERS, toText } from "./helpers.ts";
import { isStatic, prepareSyntax, TemplateError, TEXT_HELPER, toParseReason } from "./syntax.ts";

/** A template ready for use. */
export interface Template {
  /** True where the text is always the same. */
  isStatic: boolean;
  /** The context's own fields that it reads. */
  fields: ReadonlySet<string>;
  /**
   * Fills the template in. Only fields that the context itself holds are seen, nothing inherited. Throws a `HookError`
   * where the text grows beyond the budget.
   */
  render(context: object, budget?: Budget): string;
  /**
   * As `render`; empty where each value that it came to was blank, since the template's own words tell nothing apart, and
   * where it reads an `item` or an `index` that is not there.
   */
  renderKey(context: object, budget?: Budget): string;
}

/** Compiles a Handlebars template ahead of its use; throws a `TemplateError` that says what is wrong with it. */
export function compileTemplate(source: string): Template {
  try {
    const program = handlebars.parse(acceptIndexNotation(source));
    const fields = prepareSyntax(program);
    const render = compileProgram(program);
    const text = render({}, createBudget());
    return isStatic(program)
      ? { isStatic: true, fields, render: () => text, renderKey: () => text }
      : { isStatic: false, fields, render, renderKey: toRenderKey(render, fields) };
  } catch (error) {
    throw error instanceof TemplateError ? error : toTemplateError(error, source);
  }
}

const CHARACTERS = 1_048_576;
const CHARACTERS_PER_BYTE = 8;

/** Rendering is synchronous, so that a variable can stand for the render under way. */
let budget = createBudget();
/** The values that the render under way came to. */
let values = { met: 0, blank: 0 };

const handlebars = createHandlebars();

const COMPILE_OPTIONS = {
  noEscape: true,
  knownHelpersOnly: true,
  knownHelpers: Object.fromEntries([TEXT_HELPER, ...Object.keys(HELPERS)].map((name) => [name, true])),
} as CompileOptions;

/** Said outright, because handlebars prints a warning for each inherited name that a payload brings otherwise. */
const RENDER_OPTIONS = { allowProtoPropertiesByDefault: false, allowProtoMethodsByDefault: false };

function compileProgram(program: hbs.AST.Program): Template["render"] {
  const render = handlebars.compile<object>(program, COMPILE_OPTIONS);
  return (context, limit = createBudget()) => {
    budget = limit;
    return render(context, RENDER_OPTIONS);
  };
}

function toRenderKey(render: Template["render"], fields: Template["fields"]): Template["renderKey"] {
  const needed = ["item", "index"].filter((name) => fields.has(name));
  return (context, limit) => {
    if (needed.some((name) => readOwn(context, name) === undefined)) return "";
    values = { met: 0, blank: 0 };
    const text = render(context, limit);
    return values.met > 0 && values.met === values.blank ? "" : text;
  };
}

function createHandlebars(): typeof Handlebars {
  const instance = Handlebars.create();
  instance.unregisterHelper("log");
  instance.registerHelper(TEXT_HELPER, (value: unknown) => counted(metered(toText(value))));
  for (const [name, { run, readsText }] of Object.entries(HELPERS)) {
    instance.registerHelper(name, (first: unknown, ...rest: unknown[]) =>
      metered(run(readsText ? readText(first) : first, ...rest.slice(0, -1))),
    );
  }
  instance.registerHelper("lookup", lookup);
  instance.registerHelper("each", meterEach(instance));
  return instance;
}

function metered<Value>(value: Value): Value {
  if (typeof value === "string") spend(budget, value.length);
  return value;
}

function counted(text: string): string {
  values.met += 1;
  if (text.trim() === "") values.blank += 1;
  return text;
}

/** What is no text yet is written for the helper, however little of it the template shows in the end. */
function readText(value: unknown): string {
  return typeof value === "string" ? value : metered(toText(value));
}

/** Own fields only; header names in any case, as in a path. */
function lookup(object: unknown, key: unknown, { data }: Handlebars.HelperOptions): unknown {
  const isHeaders = object === readOwn(data.root, "headers");
  return readOwn(object, isHeaders ? readText(key).toLowerCase() : readText(key));
}

/** The built-in `each`, whose turns cost. */
function meterEach(instance: typeof Handlebars): Handlebars.HelperDelegate {
  const each = instance.helpers["each"];
  return function meteredEach(this: unknown, list: unknown, options: Handlebars.HelperOptions) {
    const fn: Handlebars.TemplateDelegate = (item, turn) => {
      spend(budget, TURN_COST);
      return options.fn(item, turn);
    };
    return each?.call(this, list, { ...options, fn });
  };
}

/** The parser's own message draws the place; its list of tokens helps nobody. */
function toTemplateError(error: unknown, source: string): TemplateError {
  const [summary = "", near, caret, expectation = ""] = String(error instanceof Error ? error.message : error).split(
    "\n",
  );
  const lineNumber = error instanceof Handlebars.Exception ? error.lineNumber : undefined;
  const line = Number(/ on line (\d+)/.exec(summary)?.[1] ?? lineNumber ?? 1);
  if (near === undefined || caret === undefined) {
    return new TemplateError(`The template does not parse: ${summary.replace(/ - \d+:\d+$/, "")}.`, line);
  }
  const reason = toParseReason(source, expectation);
  return new TemplateError(`The template does not parse: ${reason}.`, line, `${near}\n${caret}`);
}

/**
 * `messages[0].from` as `messages.[0].from`, the form that the parser of templates knows. Literal text, quoted text and
 * `\{{…}}` stay as they are.
 */
function acceptIndexNotation(source: string): string {
  return source.replace(MUSTACHE, (mustache) =>
    mustache.replace(INDEX, (found, digits?: string) => (digits === undefined ? found : `.[${digits}]`)),
  );
}

const MUSTACHE = /(?<!\\)\{\{[^]*?\}\}/g;

/** Quoted text is matched so that it is passed over; an index stands right after what it is of. */
const INDEX = /"[^"]*"|'[^']*'|(?<=[^\s.(){}=|/~"'])\[(\d+)\]/g;

/**
 * What the templates of one request may still write, in characters. A harmless template over a crafted payload (a list
 * inside a list, the whole payload for each item) could otherwise fill the memory or hold up every other request.
 */
export interface Budget {
  left: number;
}

/** A turn of a loop takes about as long as it takes to write so many characters. */
const TURN_COST = 32;

/** 1 Mi characters, and eight times the size of the body: large payloads may be rendered, a few times over. */
export function createBudget(bodyBytes = 0): Budget {
  return { left: CHARACTERS + CHARACTERS_PER_BYTE * bodyBytes };
}

/** Throws a 413 `HookError` once the budget is used up. */
function spend(remaining: Budget, amount: number): void {
  remaining.left -= amount;
  if (remaining.left >= 0) return;
  throw new HookError("payload_too_large");
}
