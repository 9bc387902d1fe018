import { readOwn } from "../../shared/json.ts";

/** What a template of the syntax tree can do besides writing text. */
export interface Actions {
  /** The text that `{{value}}` writes. */
  toShown(value: unknown): string;
  /** undefined: it needs Handlebars' runtime. */
  findHelper(name: string): ((...values: unknown[]) => unknown) | undefined;
}

type Read = (context: object) => unknown;

/**
 * Compiles a prepared template that has only text, fields and helpers. Most have nothing else, and for each render Handlebars
 * sets up a runtime that costs more than all the rest. undefined: the template has blocks.
 */
export function compilePlain(program: hbs.AST.Program, actions: Actions): ((context: object) => string) | undefined {
  const parts = program.body.map((statement) => compileStatement(statement, actions));
  if (!parts.every((part) => part !== undefined)) return undefined;
  return function render(context) {
    let text = "";
    for (const part of parts) text += typeof part === "string" ? part : actions.toShown(part(context));
    return text;
  };
}

function compileStatement(statement: hbs.AST.Statement, actions: Actions): string | Read | undefined {
  if (is(statement, "CommentStatement")) return "";
  if (is(statement, "ContentStatement")) return statement.value;
  // Its only parameter is what it shows.
  return is(statement, "MustacheStatement") ? compileValue(statement.params[0], actions) : undefined;
}

function compileValue(node: hbs.AST.Expression | undefined, actions: Actions): Read | undefined {
  if (node === undefined) return undefined;
  if (is(node, "PathExpression")) return compilePath(node);
  if (is(node, "SubExpression")) return compileCall(node, actions);
  if (is(node, "UndefinedLiteral")) return () => undefined;
  if (is(node, "NullLiteral")) return () => null;
  if (!is(node, "StringLiteral") && !is(node, "NumberLiteral") && !is(node, "BooleanLiteral")) return undefined;
  const { value } = node;
  return () => value;
}

function compileCall({ path, params }: hbs.AST.SubExpression, actions: Actions): Read | undefined {
  const run = actions.findHelper(path.original);
  const values = params.map((param) => compileValue(param, actions));
  if (!run || !values.every((value) => value !== undefined)) return undefined;
  return (context) => run(...values.map((value) => value(context)));
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

interface Nodes {
  ContentStatement: hbs.AST.ContentStatement;
  CommentStatement: hbs.AST.CommentStatement;
  MustacheStatement: hbs.AST.MustacheStatement;
  SubExpression: hbs.AST.SubExpression;
  PathExpression: hbs.AST.PathExpression;
  StringLiteral: hbs.AST.StringLiteral;
  NumberLiteral: hbs.AST.NumberLiteral;
  BooleanLiteral: hbs.AST.BooleanLiteral;
  UndefinedLiteral: hbs.AST.UndefinedLiteral;
  NullLiteral: hbs.AST.NullLiteral;
}

function is<Type extends keyof Nodes>(node: hbs.AST.Node, type: Type): node is Nodes[Type] {
  return node.type === type;
}
