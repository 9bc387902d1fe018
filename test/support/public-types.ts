import { readFileSync } from "node:fs";
import path from "node:path";
import { parseSync } from "oxc-parser";

/** Not shown in full: types that the schemas and the table of errors already show. */
const OPAQUE = ["ActionOverride", "MappingInput", "UserConfig", "Mailbox", "HTTP_ERRORS"];

export interface PublicType {
  name: string;
  /** Without comments. */
  text: string;
  /** The file that declares it. */
  file: string;
  /** A comment says what it is. */
  isDocumented: boolean;
  /** Only its own file names it: it is a part of the types beside it. */
  isPrivate: boolean;
}

type Declaration = Pick<PublicType, "text" | "isDocumented">;

interface Module {
  declarations: Map<string, Declaration>;
  /** The file of each imported or re-exported name. */
  sources: Map<string, { file: string; name: string }>;
  exported: string[];
}

/** The types that an entry point exports, with the types they refer to, as one text: what a user's compiler sees. */
export function describeTypes(entry: string): string {
  return listTypes(entry)
    .map(({ text }) => text)
    .join("\n\n");
}

/** The same, one by one. */
export function listTypes(entry: string): PublicType[] {
  const modules = new Map<string, Module>();
  const found = new Map<string, PublicType>();
  for (const name of readModule(entry).exported) follow(entry, name);
  return [...found.keys()].toSorted().map((name) => found.get(name)!);

  function follow(file: string, name: string): void {
    const module = readModule(file);
    const declaration = module.declarations.get(name);
    const source = module.sources.get(name);
    if (!declaration) {
      if (source) follow(source.file, source.name);
      return;
    }
    if (found.has(name)) return;
    const isOpaque = OPAQUE.includes(name);
    const text = isOpaque ? `${name} …` : declaration.text;
    found.set(name, { ...declaration, name, text, file, isPrivate: !module.exported.includes(name) });
    if (isOpaque) return;
    for (const [used] of text.matchAll(/\b[A-Z]\w*\b/g)) follow(file, used);
  }

  function readModule(file: string): Module {
    const known = modules.get(file);
    if (known) return known;
    const module = parseModule(file);
    modules.set(file, module);
    return module;
  }
}

function parseModule(file: string): Module {
  const source = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file, source);
  const module: Module = { declarations: new Map(), sources: new Map(), exported: [] };
  for (const statement of program.body) {
    if (statement.type === "ImportDeclaration") {
      for (const specifier of statement.specifiers) {
        const name = "imported" in specifier ? nameOf(specifier.imported) : specifier.local.name;
        addSource(specifier.local.name, name, statement.source.value);
      }
    } else if (statement.type === "ExportNamedDeclaration" && !statement.declaration) {
      for (const { local, exported } of statement.specifiers) {
        module.exported.push(nameOf(exported));
        addSource(nameOf(exported), nameOf(local), statement.source?.value);
      }
    } else {
      const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
      const name = declaration && declaredName(declaration);
      if (!name) continue;
      if (declaration !== statement) module.exported.push(name);
      const text = withoutComments(declaration.start, declaration.end);
      module.declarations.set(name, { text, isDocumented: hasComment(statement.start) });
    }
  }
  return module;

  function addSource(local: string, name: string, specifier = ""): void {
    if (!specifier.startsWith(".")) return;
    module.sources.set(local, { file: path.join(path.dirname(file), specifier.replace(/\.ts$/, ".d.ts")), name });
  }

  function hasComment(start: number): boolean {
    return comments.some(
      ({ value, end }) => value.startsWith("*") && end <= start && source.slice(end, start).trim() === "",
    );
  }

  function withoutComments(start: number, end: number): string {
    const inside = comments.filter((comment) => comment.start >= start && comment.end <= end).toReversed();
    let text = source.slice(start, end);
    for (const comment of inside) text = text.slice(0, comment.start - start) + text.slice(comment.end - start);
    return text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => line.replace(/^(?: {4})+/, (indent) => " ".repeat(indent.length / 2)))
      .join("\n");
  }
}

function nameOf(node: { type: string; name?: string; value?: string }): string {
  return node.name ?? node.value ?? "";
}

function declaredName(node: object): string | undefined {
  const { id, declarations } = node as { id?: { name: string }; declarations?: { id: { name: string } }[] };
  return id?.name ?? declarations?.[0]?.id.name;
}
