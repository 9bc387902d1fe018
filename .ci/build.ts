/**
 * Builds dist/: the public declarations, the program as a few files, a list of the libraries in them, and the page. With a folder
 * of `test/support/program.ts`, the program is a copy of the one in it.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseSync } from "oxc-parser";
import { bundleProgram, INPUTS_FILE } from "./bundle.ts";
import { buildPage } from "./page.ts";

const root = path.join(import.meta.dirname, "..");
/** Part of presets/github/types.d.ts. */
const OCTOKIT_TYPES = "node_modules/@octokit/webhooks-types/schema.d.ts";
const dist = path.join(root, "dist");
rmSync(dist, { recursive: true, force: true });
execFileSync("tsc", ["-p", path.join(root, ".ci/tsconfig.build.json")], { stdio: "inherit" });
removePrivateDeclarations(["index.d.ts", "contracts/index.d.ts", "service/testing.d.ts"]);
copyFileSync(path.join(root, ".ci/sandbox-globals.d.ts"), path.join(dist, "globals.d.ts"));
const libraries = readLibraries([...(await buildPage()), ...(await addProgram(process.argv[2])), OCTOKIT_TYPES]);
writeLicenses(libraries);
writeBillOfMaterials(libraries);
chmodSync(path.join(dist, "cli/webhooks.js"), 0o755);

/** The files that are in it, relative to the root. */
async function addProgram(bundled = ""): Promise<string[]> {
  const inputs = path.join(bundled, INPUTS_FILE);
  if (bundled === "" || !existsSync(inputs)) return bundleProgram(dist);
  cpSync(path.join(bundled, "dist"), dist, { recursive: true });
  return JSON.parse(readFileSync(inputs, "utf8"));
}

/** Removes the declarations that no export of the package reaches. */
function removePrivateDeclarations(entries: string[]): void {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    const { module } = parseSync(file, readFileSync(path.join(dist, file), "utf8"));
    const imports = module.staticImports.map(({ moduleRequest }) => moduleRequest.value);
    const exports = module.staticExports.flatMap(({ entries: each }) =>
      each.map(({ moduleRequest }) => moduleRequest?.value),
    );
    for (const specifier of [...imports, ...exports]) {
      if (specifier?.startsWith(".")) visit(path.join(path.dirname(file), specifier.replace(/\.ts$/, ".d.ts")));
    }
  };
  entries.forEach(visit);
  for (const file of globSync("**/*.d.ts", { cwd: dist })) if (!reached.has(file)) rmSync(path.join(dist, file));
}

interface Library {
  name: string;
  version: string;
  license: string;
  /** Its license's text. */
  text: string;
}

/** The libraries whose files are in the program or the page. `files`: relative to the root. */
function readLibraries(files: string[]): Library[] {
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return [...folders].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(root, folder, "package.json"), "utf8"));
    const [file] = globSync("LICEN[CS]E*", { cwd: path.join(root, folder) });
    const text = file === undefined ? "" : readFileSync(path.join(root, folder, file), "utf8");
    return { name, version, license, text };
  });
}

function writeLicenses(found: Library[]): void {
  const texts = found.map(
    ({ name, version, license, text }) => `${name} ${version}: ${license}\n${text && `\n${text}`}`,
  );
  writeFileSync(path.join(dist, "LICENSES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
}

/** In the format of CycloneDX, so that a scanner of vulnerabilities sees what the files contain. */
function writeBillOfMaterials(found: Library[]): void {
  const { name, version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const toPurl = (library: { name: string; version: string }): string =>
    `pkg:npm/${library.name.replace("@", "%40")}@${library.version}`;
  const bill = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "application", name, version, purl: toPurl({ name, version }) } },
    components: found.map((library) => ({
      type: "library",
      name: library.name,
      version: library.version,
      purl: toPurl(library),
      "bom-ref": toPurl(library),
      licenses: [
        / (?:OR|AND) /.test(library.license) ? { expression: library.license } : { license: { id: library.license } },
      ],
    })),
  };
  writeFileSync(path.join(dist, "sbom.cdx.json"), JSON.stringify(bill, undefined, 2));
}
