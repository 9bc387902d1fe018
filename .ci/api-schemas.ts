/** Schemas of what the operator API answers, by route, from the types in src/operator/views.ts. */
import { createRequire } from "node:module";
import path from "node:path";
import { buildGenerator } from "typescript-json-schema";

const root = path.join(import.meta.dirname, "..");
// The generator needs a TypeScript with the old API, which it brings along.
const ts = createRequire(import.meta.resolve("typescript-json-schema"))("typescript");

export function writeApiSchemas(): string {
  const options = { strict: true, allowImportingTsExtensions: true, noEmit: true, types: [], lib: ["lib.es2023.d.ts"] };
  const host = ts.createCompilerHost({ ...options, target: ts.ScriptTarget.ES2022 });
  // No type of a library is part of an answer, and reading them all takes ten times as long.
  host.resolveModuleNameLiterals = (specifiers: { text: string }[], importer: string) =>
    specifiers.map(({ text }) => ({
      resolvedModule: /^\..*\.ts$/.test(text)
        ? { resolvedFileName: path.resolve(path.dirname(importer), text), extension: ".ts" }
        : undefined,
    }));
  const program = ts.createProgram([path.join(root, "src/operator/views.ts")], options, host);
  const generator = buildGenerator(program, { required: true, noExtraProps: true, ignoreErrors: true });
  const { properties, definitions = {} } = generator?.getSchemaForSymbol("OperatorAnswers") ?? {};
  const schema = {
    answers: properties,
    definitions: Object.fromEntries(
      Object.entries(definitions)
        // The generator closes records.
        .map(([name, definition]) => [toName(name), name === TEXTS ? RECORD_OF_TEXTS : definition])
        .toSorted(([one], [other]) => String(one).localeCompare(String(other))),
    ),
  };
  return `${JSON.stringify(schema, tidy, 2)}\n`;
}

const TEXTS = "Record<string,string>";
const RECORD_OF_TEXTS = { type: "object", additionalProperties: { type: "string" } };

/** `View<Omit<Entry,"urgent">>` → EntryView, `Omit<Entry,"urgent">` → EntryPart */
function toName(name: string): string {
  const given = name
    .replace(/^View<(?:Omit<)?(\w+).*$/, "$1View")
    .replace(/^Omit<(\w+).*$/, "$1Part")
    .replace(TEXTS, "Texts");
  if (!/^\w+$/.test(given)) throw new Error(`The document needs a name for this type of an answer: ${name}`);
  return given;
}

function tidy(key: string, value: unknown): unknown {
  if (key === "$ref") {
    const name = decodeURIComponent(String(value)).replace("#/definitions/", "");
    return `#/components/schemas/${toName(name)}`;
  }
  const { additionalItems, items, ...list }: { additionalItems?: unknown; items?: unknown } = Object(value);
  // A list that is not empty, in the words of OpenAPI 3.1.
  if (additionalItems !== undefined) return { ...list, prefixItems: items, items: additionalItems };
  const isTime = /At$|^at$|^since$|Since$/.test(key);
  return isTime && JSON.stringify(value).includes('"type":"string"')
    ? { ...Object(value), format: "date-time" }
    : value;
}
