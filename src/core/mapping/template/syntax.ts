import { HELPERS } from "./helpers.ts";

// Checks and prepares the syntax tree of a template before it is compiled. The types of the tree are Handlebars' own, global
// under `hbs`.

/** The helper that every `{{…}}` goes through. No template can write this name. */
export const TEXT_HELPER = "@text";

/** A template that cannot be used; the message is for its author. */
export class TemplateError extends Error {
  override name = "TemplateError";
  /** 1-based, within the template. */
  readonly line: number;
  /** The place with a caret below it, if it is known. */
  readonly excerpt: string | undefined;

  constructor(message: string, line: number, excerpt?: string) {
    super(message);
    this.line = line;
    this.excerpt = excerpt;
  }
}

/**
 * Prepares the tree in place and gives the names of the context's own fields that it reads. Throws a `TemplateError` for
 * anything that a template must not contain.
 */
export function prepareSyntax(program: hbs.AST.Program): Set<string> {
  const fields = new Set<string>();
  prepareProgram(program, { depth: 0, fields });
  return fields;
}

/** True if nothing in the template depends on the request. */
export function isStatic(program: hbs.AST.Program): boolean {
  return program.body.every((statement) => isLiteralText(statement));
}

interface Scope {
  /** How many `../` lead to the root. */
  depth: number;
  /** The root's fields that have been read so far. */
  fields: Set<string>;
}

interface Nodes {
  ContentStatement: hbs.AST.ContentStatement;
  CommentStatement: hbs.AST.CommentStatement;
  MustacheStatement: hbs.AST.MustacheStatement;
  BlockStatement: hbs.AST.BlockStatement;
  SubExpression: hbs.AST.SubExpression;
  PathExpression: hbs.AST.PathExpression;
  StringLiteral: hbs.AST.StringLiteral;
  NumberLiteral: hbs.AST.NumberLiteral;
  BooleanLiteral: hbs.AST.BooleanLiteral;
  UndefinedLiteral: hbs.AST.UndefinedLiteral;
  NullLiteral: hbs.AST.NullLiteral;
}
type Block = hbs.AST.BlockStatement;

/** Names that can be called, with their minimum and maximum number of parameters. */
type Callables = Record<string, { takes: readonly [number, number] }>;

const BLOCKS: Callables = {
  if: { takes: [1, 1] },
  unless: { takes: [1, 1] },
  each: { takes: [1, 1] },
  with: { takes: [1, 1] },
};
const VALUES: Callables = { ...HELPERS, lookup: { takes: [2, 2] } };

function prepareProgram(program: hbs.AST.Program | undefined, scope: Scope): void {
  if (program) program.body = program.body.map((statement) => prepareStatement(statement, scope));
}

function prepareStatement(statement: hbs.AST.Statement, scope: Scope): hbs.AST.Statement {
  if (isLiteralText(statement)) return statement;
  if (is(statement, "MustacheStatement")) return throughText(statement, scope);
  if (is(statement, "BlockStatement")) return prepareBlock(statement, scope);
  throw new TemplateError("Partials and decorators are not supported.", statement.loc.start.line);
}

/** `{{x}}` as `{{@text x}}`: then a field takes precedence over a helper of its name, and one place converts all values. */
function throughText(mustache: hbs.AST.MustacheStatement, scope: Scope): hbs.AST.MustacheStatement {
  const { path, params, hash, loc } = mustache;
  const isCall = params.length > 0 || namedValues(hash).length > 0;
  const value = isCall ? { type: "SubExpression", path, params, hash, loc } : path;
  prepareExpression(value, scope);
  return { ...mustache, path: toHelperPath(TEXT_HELPER, loc), params: [value] };
}

export function toHelperPath(name: string, loc: hbs.AST.SourceLocation): hbs.AST.PathExpression {
  return { type: "PathExpression", data: false, depth: 0, parts: [name], original: name, loc };
}

/** `{{#each …}}`, or the section `{{#field}}…{{/field}}`. */
function prepareBlock(block: Block, scope: Scope): Block {
  const { path, params, hash, loc } = block;
  const { original } = path;
  const isCall = params.length > 0 || namedValues(hash).length > 0;
  const isSection = !isCall && !(Object.hasOwn(BLOCKS, original) || Object.hasOwn(VALUES, original));
  if (isSection) {
    // With `./`, Handlebars takes it for a field, also if a helper of its own has the name. A literal is a name too: `{{#5}}`.
    const name: unknown = original;
    const field = is(path, "PathExpression") ? path : toHelperPath(String(name), loc);
    block.path = { ...field, original: `./${original}` };
    prepareExpression(block.path, scope);
  } else {
    prepareCall(block, BLOCKS, scope);
  }
  if (namesValues(block.inverse) || (namesValues(block.program) && original !== "each" && original !== "with")) {
    throw new TemplateError('Only {{#each …}} and {{#with …}} can name their values with "as".', loc.start.line);
  }
  // These blocks have another `this` inside.
  const isScope = isSection || original === "each" || original === "with";
  prepareProgram(block.program, isScope ? { ...scope, depth: scope.depth + 1 } : scope);
  prepareProgram(block.inverse, scope);
  return block;
}

/** `as |item|`. */
function namesValues(program: hbs.AST.Program | undefined): boolean {
  return program?.blockParams !== undefined && program.blockParams.length > 0;
}

function prepareExpression(node: hbs.AST.Expression, scope: Scope): void {
  if (is(node, "SubExpression")) prepareCall(node, VALUES, scope);
  if (is(node, "PathExpression")) preparePath(node, scope);
}

function prepareCall(call: hbs.AST.SubExpression | Block, callables: Callables, scope: Scope): void {
  const { path, params, hash, loc } = call;
  const name = path.original;
  const callable = Object.hasOwn(callables, name) ? callables[name] : undefined;
  if (!callable) throw new TemplateError(explainUnknown(name, callables), loc.start.line);
  if (callables === VALUES && namedValues(hash).length > 0) {
    throw new TemplateError(`"${name}" takes no named values.`, loc.start.line);
  }
  const [min, max] = callable.takes;
  if (params.length < min || params.length > max) {
    const expected = min === max ? `${min}` : `${min} ${max === Infinity ? "or more" : `to ${max}`}`;
    const message = `"${name}" takes ${expected} ${max === 1 ? "value" : "values"}, not ${params.length}.`;
    throw new TemplateError(message, loc.start.line);
  }
  for (const value of [...params, ...namedValues(hash)]) prepareExpression(value, scope);
}

/** That of `length=5`. The parser omits the hash if there is none, whatever its type says. */
function namedValues(hash: hbs.AST.Hash | undefined): hbs.AST.Expression[] {
  return hash?.pairs.map(({ value }) => value) ?? [];
}

function explainUnknown(name: string, callables: Callables): string {
  if (callables === VALUES && Object.hasOwn(BLOCKS, name)) {
    return `"${name}" is a block: write {{#${name} …}}…{{/${name}}}.`;
  }
  if (callables === BLOCKS && Object.hasOwn(VALUES, name)) return `"${name}" is not a block: write {{${name} …}}.`;
  return `Unknown helper "${name}". Known: ${Object.keys(callables).toSorted().join(", ")}.`;
}

/** Makes header names lower case: `headers.X-GitHub-Event`, `@root.headers.[X-GitHub-Event]`. */
function preparePath(path: hbs.AST.PathExpression, { depth, fields }: Scope): void {
  refuseSlash(path);
  const isFromRoot = path.data ? path.parts[0] === "root" : path.depth === depth;
  const at = path.data ? 1 : 0;
  const field = path.parts[at];
  if (!isFromRoot) return;
  fields.add(field ?? "this");
  if (field !== "headers") return;
  path.parts = path.parts.map((part, index) => (index === at + 1 ? part.toLowerCase() : part));
}

/** For the parser, `labels.app.example.com/name` is one field in another, and would never have a value. */
function refuseSlash({ original, parts, loc }: hbs.AST.PathExpression): void {
  // A slash in brackets is in its part.
  const separators =
    original.replace(/^@?(?:(?:this|\.\.?)\/)*/, "").split("/").length - parts.join(" ").split("/").length;
  if (separators === 0) return;
  const [first = "", ...rest] = original.split(".");
  const fixed = rest.length === 0 ? `[${first}]` : `${first}.[${rest.join(".")}]`;
  throw new TemplateError(`Write a name that has dots or slashes in brackets: {{${fixed}}}.`, loc.start.line);
}

/** The helper that a prepared `{{…}}` goes through. */
export function helperOf({ path }: hbs.AST.MustacheStatement): string {
  return is(path, "PathExpression") ? path.original : "";
}

function isLiteralText(node: hbs.AST.Node): boolean {
  return is(node, "ContentStatement") || is(node, "CommentStatement");
}

export function is<Type extends keyof Nodes>(node: hbs.AST.Node, type: Type): node is Nodes[Type] {
  return node.type === type;
}
