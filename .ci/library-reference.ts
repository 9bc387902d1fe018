/** Writes docs/reference/library.md from the doc comments of what a program imports. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseSync } from "oxc-parser";

const root = path.join(import.meta.dirname, "..");

export function writeLibrary(note: string): string {
  const library = readDeclarations("src/service/library.ts");
  const testing = readDeclarations("src/service/testing.ts");
  const functions = ["runTransform", "createInput", "closeSandbox"].map((name) => find(testing, name));
  const text = [
    "# Library",
    note.trim(),
    "What a program imports from `hookline` and `hookline/testing`. [Use as a library](../guide/library.md) shows the first, [tests and CI](../guide/tests-and-ci.md) the second. [Write your own](../README.md#write-your-own) has the types of drivers.",
    "## `createHookline(options)`",
    "Builds the service, which does not listen yet. Rejects with a `ConfigError` that has all `problems` which keep it from starting.",
    toTable("Option", find(library, "HooklineOptions").members),
    "## The service",
    toTable("Member", find(library, "Hookline").members),
    "## `hookline/testing`",
    toTable("Function", functions),
    "`options` has the fields of a transform's argument, each of which can be left out, and:",
    toTable("Field", [...find(testing, "InputOptions").members, ...find(testing, "RunOptions").members]),
    "`runTransform` resolves to:",
    toTable("Field", find(testing, "TransformRun").members),
  ];
  return `${text.join("\n\n")}\n`;
}

interface Declaration {
  /** `start()`, `config` */
  name: string;
  /** Undefined: it has none. */
  text: string | undefined;
  members: Declaration[];
}

/** The exported declarations of a file, with the text of their doc comments. */
function readDeclarations(file: string): Map<string, Declaration> {
  const source = readFileSync(path.join(root, file), "utf8");
  const { program, comments } = parseSync(file, source);
  const found = new Map<string, Declaration>();
  for (const statement of program.body) {
    if (statement.type !== "ExportNamedDeclaration" || !statement.declaration) continue;
    const { declaration } = statement;
    if (declaration.type === "TSInterfaceDeclaration") {
      const members = declaration.body.body.flatMap((member) => {
        if (member.type !== "TSPropertySignature" && member.type !== "TSMethodSignature") return [];
        const params = member.type === "TSMethodSignature" ? `(${toNames(member.params)})` : "";
        return [{ name: `${nameOf(member.key)}${params}`, text: textBefore(member.start), members: [] }];
      });
      found.set(declaration.id.name, { name: declaration.id.name, text: textBefore(statement.start), members });
    } else if ("params" in declaration && declaration.id && !found.has(declaration.id.name)) {
      // Users see the first one of overloads.
      const { name } = declaration.id;
      found.set(name, {
        name: `${name}(${toNames(declaration.params)})`,
        text: textBefore(statement.start),
        members: [],
      });
    }
  }
  return found;

  /** The doc comment in front of a place. */
  function textBefore(start: number): string | undefined {
    const before = comments.filter(({ value, end }) => value.startsWith("*") && end <= start).at(-1);
    const between = source.slice(before?.end ?? 0, start).replace(/^\s*\/\/.*$/gm, "");
    return before && between.trim() === "" ? toText(before.value) : undefined;
  }
}

function toText(comment: string): string {
  return comment
    .replace(/^\*/, "")
    .replaceAll(/\n\s*\* ?/g, "\n")
    .trim()
    .replace(/\n?@param (\w+) - /g, " `$1`: ")
    .replace(/\n?@throws /g, ". Rejects with a ")
    .replaceAll(/\s+/g, " ")
    .replace(/(?<![.!?])$/, ".");
}

function nameOf(key: object): string {
  return "name" in key ? String(key.name) : "";
}

function toNames(params: object[]): string {
  return params.map((param) => ("left" in param ? nameOf(Object(param.left)) : nameOf(param)) || "options").join(", ");
}

function find(declarations: Map<string, Declaration>, name: string): Declaration {
  const found = declarations.get(name);
  if (!found) throw new Error(`docs/reference/library.md names ${name}, which is not exported.`);
  return found;
}

function toTable(head: string, rows: Declaration[]): string {
  const lines = rows.map(({ name, text }) => {
    if (text === undefined) throw new Error(`${name} needs a doc comment, for docs/reference/library.md.`);
    return `| \`${name}\` | ${text.replaceAll("|", "\\|")} |`;
  });
  return [`| ${head} | Meaning |`, "|---|---|", ...lines].join("\n");
}
