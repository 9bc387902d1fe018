import { helperOf, is, TemplateError, TEXT_HELPER, toHelperPath } from "./syntax.ts";

/*
 * The text of an answer is the operator's, and its values are written by senders and models. So each value is escaped for
 * the place where it is inserted, and a template with a value where nothing could be escaped is refused when it is loaded.
 */

/** How the values of a template are escaped; line: each stays on its line; plain: not at all. */
export type Syntax = "json" | "xml" | "line" | "plain";

export function syntaxOf(contentType: string): Syntax {
  return (["json", "xml"] as const).find((syntax) => RegExp(`[/+]${syntax}$`).test(contentType)) ?? "plain";
}

/** The helpers that write an escaped value, in the place of `@text`. No template can write their names. */
export const ESCAPES: Record<string, (text: string) => string> = {
  "@json": (text) => JSON.stringify(text).slice(1, -1),
  "@line": (text) => text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim(),
  "@xml": (text) =>
    text.replaceAll(NOT_IN_XML, "").replaceAll(XML_SPECIAL, (character) => `&#${character.charCodeAt(0)};`),
};

/** XML 1.0 allows neither these characters nor references to them. */
const NOT_IN_XML = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;
/** A carriage return would become a line feed. */
const XML_SPECIAL = /[&<>"'\r]/g;

/** Lets every value of a prepared template be escaped. Throws a `TemplateError` for one at a place where none can be. */
export function escapeValues(program: hbs.AST.Program, syntax: Syntax): void {
  if (syntax === "plain") return;
  const writer = WRITERS[syntax];
  const end = escapeProgram(program, "text", writer);
  if (end !== "text")
    throw new TemplateError(`The ${writer.name} ends within ${writer.states[end]}.`, lastLine(program));
  if (syntax === "json") requireJson(program);
}

interface Writer {
  name: string;
  /** Names of the states in which a text can be, besides `text`. */
  states: Record<string, string>;
  /** The state after a literal text. */
  scan(state: string, text: string): string;
  /** The helper that writes a value in a state; `isWhole`: the value is that of `json`. A string that begins with no @ says why there can be none. */
  findHelper(state: string, isWhole: boolean): string;
}

/** Gives the state at its end. */
function escapeProgram(program: hbs.AST.Program | undefined, start: string, writer: Writer): string {
  let state = start;
  for (const statement of program?.body ?? []) {
    if (is(statement, "ContentStatement")) state = writer.scan(state, statement.value);
    else if (is(statement, "MustacheStatement")) escapeValue(statement, state, writer);
    else if (is(statement, "BlockStatement")) escapeBlock(statement, state, writer);
  }
  return state;
}

/** A block ends where it begins, because it may be left out or repeated. */
function escapeBlock({ program, inverse, loc }: hbs.AST.BlockStatement, state: string, writer: Writer): void {
  const isWhole = [program, inverse].every((branch) => escapeProgram(branch, state, writer) === state);
  if (isWhole) return;
  const states = [...new Set(Object.values(writer.states))].join(", ");
  throw new TemplateError(
    `A block must be whole ${writer.name}: this one opens or closes one of ${states}.`,
    loc.start.line,
  );
}

function escapeValue(mustache: hbs.AST.MustacheStatement, state: string, writer: Writer): void {
  const helper = writer.findHelper(state, isJsonCall(mustache));
  if (!helper.startsWith("@")) throw new TemplateError(helper, mustache.loc.start.line);
  mustache.path = toHelperPath(helper, mustache.loc);
}

function isJsonCall({ params: [value] }: hbs.AST.MustacheStatement): boolean {
  return value !== undefined && is(value, "SubExpression") && value.path.original === "json";
}

function lastLine({ body }: hbs.AST.Program): number {
  return body.at(-1)?.loc.end.line ?? 1;
}

const JSON_WRITER: Writer = {
  name: "JSON",
  states: { string: "a text in quotes", escape: "a character after a backslash" },
  scan(start, text) {
    let state = start;
    for (const character of text) {
      if (state === "escape") state = "string";
      else if (character === '"') state = state === "string" ? "text" : "string";
      else if (character === "\\" && state === "string") state = "escape";
    }
    return state;
  },
  findHelper(state, isWhole) {
    if (state === "escape") return "In JSON, no value can follow a backslash. Remove the backslash.";
    if (state === "string")
      return isWhole ? 'The helper "json" writes quotes itself. Remove those around it.' : "@json";
    return isWhole ? TEXT_HELPER : 'In JSON, a value is written in quotes, "{{…}}", or with its own: {{json …}}.';
  },
};

/** Where each part of an XML text ends, and what follows. Outside of them, the next part begins with `<`. */
const XML_ENDS: Record<string, Record<string, string>> = {
  tag: { ">": "text", '"': "double", "'": "single" },
  double: { '"': "tag" },
  single: { "'": "tag" },
  comment: { "-->": "text" },
  cdata: { "]]>": "text" },
  declaration: { ">": "text" },
};
const XML_STARTS: Record<string, string> = {
  "<!--": "comment",
  "<![CDATA[": "cdata",
  "<!": "declaration",
  "<?": "declaration",
  "<": "tag",
};

const XML_WRITER: Writer = {
  name: "XML",
  states: {
    tag: "a tag",
    double: "an attribute",
    single: "an attribute",
    comment: "a comment",
    cdata: "a CDATA section",
    declaration: "a declaration",
  },
  scan(start, text) {
    let state = start;
    for (let at = 0; at < text.length;) {
      const marks = XML_ENDS[state] ?? XML_STARTS;
      const mark = Object.keys(marks).find((each) => text.startsWith(each, at));
      if (mark !== undefined) state = marks[mark] ?? state;
      at += mark?.length ?? 1;
    }
    return state;
  },
  findHelper(state) {
    if (state === "text" || state === "double" || state === "single") return "@xml";
    return `In XML, a value is text or in a quoted attribute. This one is in ${XML_WRITER.states[state]}.`;
  },
};

const LINE_WRITER: Writer = {
  name: "text",
  states: {},
  scan: (state) => state,
  findHelper: () => "@line",
};

const WRITERS: Record<Exclude<Syntax, "plain">, Writer> = { json: JSON_WRITER, xml: XML_WRITER, line: LINE_WRITER };

/** Without blocks, only values vary, so one parse proves it. */
function requireJson({ body }: hbs.AST.Program): void {
  const parts = body.map((statement) => {
    if (is(statement, "ContentStatement")) return statement.value;
    if (is(statement, "MustacheStatement")) return helperOf(statement) === TEXT_HELPER ? "null" : "";
    return is(statement, "CommentStatement") ? "" : undefined;
  });
  if (parts.every((part) => part !== undefined) && !isJson(parts.join(""))) {
    throw new TemplateError("The template does not give JSON.", 1);
  }
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
