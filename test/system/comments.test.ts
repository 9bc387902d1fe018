import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { neutralize } from "../../src/vendors/kit/comments/neutralize.ts";
import { findEffects, hostileMarkdown, NEUTRAL } from "../support/comment-effects.ts";
import * as fc from "../support/property.ts";

const EXTENSIONS = ["autolink", "footnotes", "strikethrough", "table", "tasklist"].flatMap((name) => ["-e", name]);

test("GitHub's own parser finds no effect in a comment", () => {
  fc.assert(
    fc.property(hostileMarkdown, (text) => {
      const html = execFileSync("/usr/bin/cmark-gfm", ["--unsafe", ...EXTENSIONS], {
        input: neutralize(text, NEUTRAL),
      });
      expect(findEffects(html.toString())).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
