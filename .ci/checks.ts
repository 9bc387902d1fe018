/** The checks by the package's own schemas, compiled for the bundle: to compile them would take half of a start. */
import standalone from "ajv/dist/standalone/index.js";
import { build, type Plugin } from "esbuild";
import path from "node:path";
import { parseSync } from "oxc-parser";
import { builtInDrivers } from "../src/config/plugins.ts";
import { createAjv } from "../src/config/schema/ajv.ts";
import { assembleReferences, assembleSchema } from "../src/config/schema/assemble.ts";
import { BUILT_CHECKS, readSchema } from "../src/config/schema/validator.ts";

type Name = keyof typeof BUILT_CHECKS;

const [mapping, auth] = assembleReferences(builtInDrivers);

const SCHEMAS: Record<Name, Record<string, unknown>> = {
  config: assembleSchema(builtInDrivers),
  mapping,
  preset: readSchema("preset"),
  wake: readSchema("wake"),
  agent: readSchema("agent"),
  action: readSchema("action"),
};

/** Each is a module. Those in one may refer to each other. */
const MODULES: [Name, ...Name[]][] = [["config", "mapping"], ["preset"], ["wake"], ["agent"], ["action"]];

const SCHEMA_FOLDER = path.join(import.meta.dirname, "../src/config/schema");

/** Fills the table of `compiled-checks.ts`. */
export function compiledChecks(): Plugin {
  const rows = MODULES.flatMap((names) => names.map((name) => `  ${name}: () => load("${names[0]}").${name},\n`));
  const contents = `import { createRequire } from "node:module";
import path from "node:path";
import { PACKAGE_ROOT } from "../../shared/package.ts";

const load = (name) => createRequire(import.meta.url)(path.join(PACKAGE_ROOT, "dist/checks", name + ".cjs"));
export const compiledChecks = {\n${rows.join("")}};`;
  return {
    name: "compiled-checks",
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]compiled-checks\.ts$/ }, () => ({ contents, resolveDir: SCHEMA_FOLDER }));
    },
  };
}

/** Writes a file for each module: it is run at the first use of its checks. */
export async function writeChecks(dist: string): Promise<void> {
  for (const names of MODULES) {
    await build({
      stdin: { contents: compileModule(names), resolveDir: SCHEMA_FOLDER },
      outfile: path.join(dist, "checks", `${names[0]}.cjs`),
      bundle: true,
      format: "cjs",
      platform: "node",
      target: "node24",
    });
  }
}

/** As CommonJS, to be used in the folder of the schemas' code. */
export function compileModule(names: [Name, ...Name[]]): string {
  const [first, ...others] = names;
  const references = others.length > 0 ? [...others.map((name) => SCHEMAS[name]), auth] : [];
  const ajv = createAjv(SCHEMAS[first], { ...BUILT_CHECKS[first], references }, true);
  ajv.addSchema(SCHEMAS[first]);
  return toEager(
    standalone.default(ajv, Object.fromEntries(names.map((name) => [name, String(SCHEMAS[name]["$id"])]))),
  );
}

/**
 * Puts functions in brackets: V8 compiles these with their file, so that Node's compile cache holds them. Constants have to
 * come before their first use.
 */
function toEager(code: string): string {
  const { program } = parseSync("checks.cjs", code);
  const functions = program.body.flatMap((node) => (node.type === "FunctionDeclaration" ? [node] : []));
  const constants = functions.map(({ id, start, end }) => `const ${id?.name} = (${code.slice(start, end)});`);
  const rest = functions.reduceRight((text, { start, end }) => text.slice(0, start) + text.slice(end), code);
  return [...constants, rest].join("\n");
}
