import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { neutralize } from "../../src/vendors/kit/comments/neutralize.ts";
import { findEffects, hostileMarkdown, NEUTRAL } from "../support/comment-effects.ts";
import * as fc from "../support/property.ts";

const EXTENSIONS = ["autolink", "footnotes", "strikethrough", "table", "tasklist"].map((name) => `-e ${name}`);

/** One shell for all texts: this process is large, and takes long to start another. */
const PARSE = `for file in *; do /usr/bin/cmark-gfm --unsafe ${EXTENSIONS.join(" ")} "$file" > "$file.html"; done`;

test("GitHub's own parser finds no effect in a comment", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-comments-"));
  const texts = fc.sample(hostileMarkdown, 300 * Number(process.env.CASES ?? 1));
  for (const [index, text] of texts.entries()) writeFileSync(path.join(folder, `${index}`), neutralize(text, NEUTRAL));
  execFileSync("/bin/sh", ["-c", PARSE], { cwd: folder });
  for (const [index, text] of texts.entries()) {
    const html = readFileSync(path.join(folder, `${index}.html`), "utf8");
    expect([text, findEffects(html)]).toEqual([text, []]);
  }
  rmSync(folder, { recursive: true });
});
