import { HELPERS } from "./helpers.ts";

/**
 * What a template may hold, checked and prepared on its syntax tree before it is compiled. The types of the tree are
 * handlebars' own, global under `hbs`.
 */

/** Name of the helper that every `{{…}}` goes through; no template can write it. */
export const TEXT_HELPER = "@text";

/**
 * Throws a `TemplateError` for what no template may hold; else makes the tree ready, in place, and gives the names of the
 * context's own fields that it reads.
 */
export function prepareSyntax(program: hbs.AST.Program): Set<string> {
  const fields = new Set<string>();
  prepareProgram(program, { depth: 0, fields });
  return fields;
}

/** True where nothing of the template depends on the request. */
export function isStatic(program: hbs.AST.Program): boolean {
  return program.body.every((statement) => isLiteralText(statement));
}

/** Where the walk through the tree is. */
interface Scope {
  /** How many `../` lead from here to the root. */
  depth: number;
  /** The root's fields that were read so far. */
  fields: Set<string>;
}

interface Nodes {
  ContentStatement: hbs.AST.ContentStatement;
  CommentStatement: hbs.AST.CommentStatement;
  MustacheStatement: hbs.AST.MustacheStatement;
  BlockStatement: hbs.AST.BlockStatement;
  SubExpression: hbs.AST.SubExpression;
  PathExpression: hbs.AST.PathExpression;
}
type Block = hbs.AST.BlockStatement;
type Call = hbs.AST.SubExpression | Block;

/** What can be called, by name: how many parameters it takes. */
type Callables = Record<string, { takes: readonly [number, number] }>;

/** `scopes`: has another `this` inside. */
const BLOCKS: Record<string, { takes: readonly [number, number]; scopes: boolean }> = {
  if: { takes: [1, 1], scopes: false },
  unless: { takes: [1, 1], scopes: false },
  each: { takes: [1, 1], scopes: true },
  with: { takes: [1, 1], scopes: true },
};
const VALUES: Callables = { ...HELPERS, lookup: { takes: [2, 2] } };

function prepareProgram(program: hbs.AST.Program | undefined, scope: Scope): void {
  if (program) program.body = program.body.map((statement) => prepareStatement(statement, scope));
}

function prepareStatement(statement: hbs.AST.Statement, scope: Scope): hbs.AST.Statement {
  if (isLiteralText(statement)) return statement;
  if (is(statement, "MustacheStatement")) return throughText(statement, scope);
  if (is(statement, "BlockStatement")) return prepareBlock(statement, scope);
  throw new TemplateError("Partials and decorators cannot be used here.", statement.loc.start.line);
}

/** `{{x}}` as `{{@text x}}`: so a field wins over a helper of its name, and every value becomes text in one place. */
function throughText(mustache: hbs.AST.MustacheStatement, scope: Scope): hbs.AST.MustacheStatement {
  const { path, params, hash, loc } = mustache;
  const isCall = params.length > 0 || hasNamedValues(hash);
  const value = isCall ? { type: "SubExpression", path, params, hash, loc } : path;
  prepareExpression(value, scope);
  return { ...mustache, path: toPath(TEXT_HELPER, loc), params: [value] };
}

/** `{{#each …}}`, or the section `{{#field}}…{{/field}}`. */
function prepareBlock(block: Block, scope: Scope): Block {
  const { original } = block.path;
  const isSection = block.params.length === 0 && !(Object.hasOwn(BLOCKS, original) || Object.hasOwn(VALUES, original));
  if (isSection) prepareExpression(block.path, scope);
  else prepareCall(block, BLOCKS, scope);
  const scopes = isSection || BLOCKS[original]?.scopes === true;
  prepareProgram(block.program, scopes ? { ...scope, depth: scope.depth + 1 } : scope);
  prepareProgram(block.inverse, scope);
  return block;
}

function prepareExpression(node: hbs.AST.Expression, scope: Scope): void {
  if (is(node, "SubExpression")) prepareCall(node, VALUES, scope);
  if (is(node, "PathExpression")) preparePath(node, scope);
}

function prepareCall(call: Call, callables: Callables, scope: Scope): void {
  requireCallable(call, callables);
  for (const param of call.params) prepareExpression(param, scope);
}

function requireCallable({ path, params, hash, loc }: Call, callables: Callables): void {
  const name = path.original;
  const callable = Object.hasOwn(callables, name) ? callables[name] : undefined;
  if (!callable) throw new TemplateError(toUnknownMessage(name, callables), loc.start.line);
  if (callables === VALUES && hasNamedValues(hash)) {
    throw new TemplateError(`"${name}" takes no named values.`, loc.start.line);
  }
  const [least, most] = callable.takes;
  if (params.length >= least && params.length <= most) return;
  const expected = least === most ? `${least}` : `${least} ${most === Infinity ? "or more" : `to ${most}`}`;
  const message = `"${name}" takes ${expected} ${most === 1 ? "value" : "values"}, not ${params.length}.`;
  throw new TemplateError(message, loc.start.line);
}

/** `length=5`. The parser leaves the hash out where there is none, whatever its type says. */
function hasNamedValues(hash: hbs.AST.Hash | undefined): boolean {
  return hash !== undefined && hash.pairs.length > 0;
}

function toUnknownMessage(name: string, callables: Callables): string {
  if (callables === VALUES && Object.hasOwn(BLOCKS, name)) {
    return `"${name}" is a block: write {{#${name} …}}…{{/${name}}}.`;
  }
  if (callables === BLOCKS && Object.hasOwn(VALUES, name)) return `"${name}" is no block: write {{${name} …}}.`;
  return `There is no helper "${name}"; there are ${Object.keys(callables).toSorted().join(", ")}.`;
}

/** Header names are lower-cased on both sides: `headers.X-GitHub-Event`, `@root.headers.[X-GitHub-Event]`. */
function preparePath(path: hbs.AST.PathExpression, { depth, fields }: Scope): void {
  const isFromRoot = path.data ? path.parts[0] === "root" : path.depth === depth;
  const at = path.data ? 1 : 0;
  const field = path.parts[at];
  if (!isFromRoot || field === undefined) return;
  fields.add(field);
  if (field !== "headers") return;
  path.parts = path.parts.map((part, index) => (index === at + 1 ? part.toLowerCase() : part));
}

function toPath(name: string, loc: hbs.AST.SourceLocation): hbs.AST.PathExpression {
  return { type: "PathExpression", data: false, depth: 0, parts: [name], original: name, loc };
}

function isLiteralText(node: hbs.AST.Node): boolean {
  return is(node, "ContentStatement") || is(node, "CommentStatement");
}

function is<Type extends keyof Nodes>(node: hbs.AST.Node, type: Type): node is Nodes[Type] {
  return node.type === type;
}

/** A template that cannot be used; the message is a sentence for whoever wrote it. */
export class TemplateError extends Error {
  override name = "TemplateError";
  /** 1-based, within the template. */
  readonly line: number;
  /** The place with a caret below it, where it is known. */
  readonly excerpt: string | undefined;

  constructor(message: string, line: number, excerpt?: string) {
    super(message);
    this.line = line;
    this.excerpt = excerpt;
  }
}

/**
 * Why the parser stopped, as the end of a sentence. What it says itself is a list of token names:
 * `Expecting 'OPEN_ENDBLOCK', 'CONTENT', got 'EOF'`.
 */
export function toParseReason(source: string, expectation: string): string {
  const [, wanted = "", got = ""] = /^Expecting (.*), got '(\w+)'$/.exec(expectation) ?? [];
  if (got === "EOF" && wanted.includes("OPEN_ENDBLOCK")) return toUnclosedBlock(source);
  if (source.lastIndexOf("{{") > source.lastIndexOf("}}")) return "a {{ is not closed: its }} is missing";
  return REASONS[got]?.(wanted) ?? "what stands at the mark does not belong there";
}

/** By the token that came, what may be said of those that were wanted. */
const REASONS: Record<string, (wanted: string) => string> = {
  OPEN_ENDBLOCK: () => "it closes a block that is not open",
  INVERSE: () => "an {{else}} stands outside of a block, or is its second",
  CLOSE: (wanted) => {
    if (wanted.includes("CLOSE_SEXPR")) return "a ) is missing";
    if (wanted.includes("CLOSE_UNESCAPED")) return "{{{ is closed by }}}";
    return "a name or a value is missing before the }}";
  },
  CLOSE_UNESCAPED: () => "{{ is closed by }}, not by }}}",
  CLOSE_SEXPR: () => "a ) stands there without its (",
};

function toUnclosedBlock(source: string): string {
  const open: string[] = [];
  for (const [, mark, name = ""] of source.matchAll(BLOCK_MARKS)) {
    if (mark === "/") open.pop();
    else open.push(name);
  }
  const name = open.at(-1);
  return name === undefined ? "a block is not closed" : `{{#${name}}} is not closed: its {{/${name}}} is missing`;
}

const BLOCK_MARKS = /\{\{~?([#/])\s*([^\s{}~]*)/g;
