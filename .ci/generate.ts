/** Writes src/config/generated.ts from schemas/*.json. With --check, fails when it is not current. */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { compileFromFile } from "json-schema-to-typescript";

const root = path.join(import.meta.dirname, "..");
const target = path.join(root, "src/config/generated.ts");
const names = ["wake", "agent", "action", "preset", "config"];

const parts: string[] = [];
for (const name of names) {
  parts.push(
    await compileFromFile(path.join(root, "schemas", `${name}.json`), {
      bannerComment: "",
      additionalProperties: name === "wake" || name === "agent",
      cwd: path.join(root, "schemas"),
      style: { printWidth: 110 },
    }),
  );
}
const text = `// Generated from schemas/*.json by \`npm run generate\`. Do not edit.\n\n${parts.join("\n")}`;

if (process.argv.includes("--check")) {
  if ((await readFile(target, "utf8").catch(() => "")) !== text) {
    console.error("src/config/generated.ts is not current: run `npm run generate`");
    process.exit(1);
  }
} else {
  await writeFile(target, text);
}
