/**
 * `node .ci/release.ts v0.1.0` prints the changelog's section of a version, for the text of its release. It fails unless the
 * tag, package.json, the first heading of the changelog and the images in docs name one version.
 */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

const root = path.join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

const [, , tag = ""] = process.argv;
const { version }: { version: string } = JSON.parse(read("package.json"));
const [, heading = "", section = ""] = /^## (\S+).*\n([^]*?)(?=\n## |$(?![^]))/m.exec(read("CHANGELOG.md")) ?? [];
const images = globSync("docs/**/*.{md,yaml}", { cwd: root }).flatMap((file) =>
  Array.from(
    read(file).matchAll(/ghcr\.io\/hookline\/hookline:(\S+?)[`.]?(?=\s)/g),
    ([, named = ""]) => [file, named] as const,
  ),
);
const places = [["the tag", tag.replace(/^v/, "")], ["CHANGELOG.md", heading], ...images];
const wrong = places.filter(([, named]) => named !== version);
if (wrong.length > 0) {
  console.error(`package.json has version ${version}.`);
  for (const [place, named] of wrong) console.error(`${place} has ${named === "" ? "none" : named}.`);
  process.exitCode = 1;
} else console.log(section.trim());
