/** The checks by the package's own schemas, compiled for the bundle: to compile them would take half of a start. */
import standalone from "ajv/dist/standalone/index.js";
import type { Plugin } from "esbuild";
import path from "node:path";
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

/** Fills the table of `compiled-checks.ts`. Each check is a module that is run at its first use. */
export function compiledChecks(): Plugin {
  return {
    name: "compiled-checks",
    setup({ onLoad, onResolve }) {
      onLoad({ filter: /[\\/]compiled-checks\.ts$/ }, () => {
        const rows = MODULES.flatMap((names) =>
          names.map((name) => `  ${name}: () => require("check:${names[0]}").${name},\n`),
        );
        return { contents: `export const compiledChecks = {\n${rows.join("")}};`, resolveDir: SCHEMA_FOLDER };
      });
      onResolve({ filter: /^check:/ }, ({ path: specifier }) => ({
        path: specifier.slice("check:".length),
        namespace: "check",
      }));
      for (const names of MODULES) {
        onLoad({ filter: new RegExp(`^${names[0]}$`), namespace: "check" }, () => ({
          contents: compileModule(names),
          resolveDir: SCHEMA_FOLDER,
        }));
      }
    },
  };
}

/** As CommonJS, to be used in the folder of the schemas' code. */
export function compileModule(names: [Name, ...Name[]]): string {
  const [first, ...others] = names;
  const references = others.length > 0 ? [...others.map((name) => SCHEMAS[name]), auth] : [];
  const ajv = createAjv(SCHEMAS[first], { ...BUILT_CHECKS[first], references }, true);
  ajv.addSchema(SCHEMAS[first]);
  return standalone.default(ajv, Object.fromEntries(names.map((name) => [name, String(SCHEMAS[name]["$id"])])));
}
