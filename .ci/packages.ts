/** Writes docs/reference/packages.md from what `npm run test:packages` found. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { PackageResult } from "../test/packages/packages.test.ts";

const RESULTS = path.join(import.meta.dirname, "../test/packages/results.json");

const INTRODUCTION = `Packages of npm that code like a transform imports, chosen by their downloads. Each had one small use, which ran in the sandbox and in Node 24: it works if both gave the same. With \`strict\`, it works only under [\`transform.isolation: "strict"\`](../guide/transforms.md#what-is-available), because it changes built-in objects. What does not work has the sentence that \`check\` or the event says.

KB is the size of the bundle with everything that the use imports. A large one makes each call slower.`;

export function writePackages(): string {
  const results: Record<string, Record<string, PackageResult>> = JSON.parse(readFileSync(RESULTS, "utf8"));
  const all = Object.values(results).flatMap((found) => Object.values(found));
  const count = (kind: string): number => all.filter((result) => "works" in result && result.works === kind).length;
  const [shared, strict] = [count("request"), count("strict")];
  const summary = `Of ${all.length} packages, ${shared + strict} work, ${strict} of them with \`strict\`.`;
  const sections = Object.entries(results).map(([subject, found]) => {
    const rows = Object.entries(found).map(([name, result]) => `| \`${name}\` | ${describe(result)} |`);
    return [`## ${subject}`, ["| Package | Result | KB |", "|---|---|---|", ...rows].join("\n")].join("\n\n");
  });
  return `${["# Packages in transforms", INTRODUCTION, summary, ...sections].join("\n\n")}\n`;
}

function describe(result: PackageResult): string {
  if ("says" in result) return `${result.says.replaceAll("|", "\\|")} |`;
  return `${result.works === "strict" ? "works with `strict`" : "works"} | ${result.kb}`;
}
