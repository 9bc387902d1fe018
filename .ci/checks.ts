/** The checks by the package's own schemas, compiled for the bundle: to compile them would take half of a start. */
import standalone from "ajv/dist/standalone/index.js";
import { build, type Plugin } from "esbuild";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { parseSync } from "oxc-parser";
import { createAjv, type SchemaOptions } from "../src/core/config/schema/ajv.ts";
import { findPresets, readPreset } from "../src/core/config/presets/file.ts";
import { toOwnSchema, toSettingsSchema } from "../src/core/config/presets/parameters.ts";
import { toBlockSchema } from "../src/core/config/schema/blocks.ts";
import { BLOCK_OPTIONS, BUILT_CHECKS, readBuilt, toCheckName } from "../src/core/config/schema/validator.ts";
import { builtInDrivers } from "../src/service/drivers.ts";
import { FACTS } from "./facts.ts";

interface Check {
  schema: Record<string, unknown>;
  options: SchemaOptions;
}

const SCHEMA_FOLDER = path.join(import.meta.dirname, "../src/core/config/schema");

/** By name: those of the package's own schemas, of the drivers' blocks, and of the presets' parameters. */
export function listChecks(): Map<string, Check> {
  const names = Object.keys(BUILT_CHECKS) as (keyof typeof BUILT_CHECKS)[];
  const own = names.map((name): [string, Check] => [name, { schema: readBuilt(name), options: BUILT_CHECKS[name] }]);
  const { vendors: _, ...drivers } = builtInDrivers;
  const parts = Object.keys(drivers) as (keyof typeof drivers)[];
  const blocks = parts.flatMap((part) =>
    Object.values(drivers[part]).map((definition) => toBlockSchema(part, definition)),
  );
  const parameters = findPresets().map((name) => toOwnSchema(readPreset(name).preset));
  const others = [...blocks, toSettingsSchema(), ...parameters].map((schema): [string, Check] => [
    toCheckName(schema),
    { schema, options: BLOCK_OPTIONS },
  ]);
  return new Map([...own, ...others]);
}

/** Fills in `compiled-checks.ts`. */
export function fillCompiledChecks(): Plugin {
  const contents = `import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { PACKAGE_ROOT } from "../../shared/system/package.ts";

const require = createRequire(import.meta.url);
const folder = path.join(PACKAGE_ROOT, "dist/checks");
let facts;
export const compiledChecks = {
  find(name) {
    const file = path.join(folder, name + ".cjs");
    return existsSync(file) ? require(file) : undefined;
  },
  findFacts(name) {
    facts ??= require(path.join(folder, "${FACTS}"));
    return facts[name];
  },
};`;
  return {
    name: "compiled-checks",
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]compiled-checks\.ts$/ }, () => ({ contents, resolveDir: SCHEMA_FOLDER }));
    },
  };
}

/** Writes a file for each check: it is run at its first use. */
export async function writeChecks(dist: string): Promise<void> {
  const checks = listChecks();
  mkdirSync(path.join(dist, "checks"), { recursive: true });
  await build({
    entryPoints: Array.from(checks.keys(), (name) => ({ in: `check:${name}`, out: name })),
    outdir: path.join(dist, "checks"),
    outExtension: { ".js": ".cjs" },
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node24",
    minifyWhitespace: true,
    plugins: [
      {
        name: "checks",
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^check:/ }, ({ path: name }) => ({
            path: name.slice("check:".length),
            namespace: "check",
          }));
          onLoad({ filter: /.*/, namespace: "check" }, ({ path: name }) => ({
            contents: compileCheck(checks.get(name)!),
            resolveDir: SCHEMA_FOLDER,
          }));
        },
      },
    ],
  });
}

/** The code is CommonJS, to be used in the folder of the schemas' code. */
export function compileCheck({ schema, options }: Check): string {
  const ajv = createAjv(schema, options, true);
  return toEager(standalone.default(ajv, ajv.compile(schema)));
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
