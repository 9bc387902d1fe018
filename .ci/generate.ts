/**
 * Writes what comes from the schemas: src/config/schema/generated.ts, the types of the configuration, and
 * transforms/hookline.d.ts, what an editor needs of a transform. With --check, fails when one is not current.
 */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { compileFromFile } from "json-schema-to-typescript";

const root = path.join(import.meta.dirname, "..");
const names = ["wake", "agent", "action", "preset", "config"];

const outputs = [
  { file: "src/config/schema/generated.ts", text: await writeConfigTypes() },
  { file: "transforms/hookline.d.ts", text: await writeAuthorTypes() },
];
for (const { file, text } of outputs) {
  if (!process.argv.includes("--check")) await writeFile(path.join(root, file), text);
  else if ((await read(file).catch(() => "")) !== text) {
    console.error(`${file} is not current: run \`npm run generate\``);
    process.exitCode = 1;
  }
}

async function writeConfigTypes(): Promise<string> {
  const parts: string[] = [];
  for (const name of names) parts.push(await toTypes(name));
  return `// Generated from schemas/*.json by \`npm run generate\`. Do not edit.\n\n${parts.join("\n")}`;
}

/** A file of its own, without imports: it can stand beside any transform, with nothing installed. */
async function writeAuthorTypes(): Promise<string> {
  const author = (await read("src/transforms/author.ts")).replace(/^import .*\n+/gm, "");
  const module = `${await toTypes("action")}\n${author}`.trim().replace(/^(?=.)/gm, "  ");
  const header = "// The types of a Hookline transform. Generated: `webhooks transform new` writes it anew.";
  return `${header}\n\ndeclare module "hookline" {\n${module}\n}\n\n${await read(".ci/sandbox-globals.d.ts")}`;
}

function toTypes(schema: string): Promise<string> {
  return compileFromFile(path.join(root, "schemas", `${schema}.json`), {
    bannerComment: "",
    additionalProperties: schema === "wake" || schema === "agent",
    cwd: path.join(root, "schemas"),
    style: { printWidth: 110 },
  });
}

function read(file: string): Promise<string> {
  return readFile(path.join(root, file), "utf8");
}
