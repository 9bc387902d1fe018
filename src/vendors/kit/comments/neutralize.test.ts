import { describe, expect, test } from "vitest";
import {
  findEffects,
  findQuickActions,
  hostileMarkdown,
  NEUTRAL,
  PARSERS,
} from "../../../../test/support/comment-effects.ts";
import * as fc from "../../../../test/support/property.ts";
import { neutralize, neutralizePlain } from "./neutralize.ts";

const host = "github.com";
/** The gap shown as `|`. */
const show = (text: string, options = {}): string => neutralize(text, { host, ...options }).replaceAll("\u200B", "|");

describe("a mention", () => {
  test.each([
    ["Thanks @ada, and @acme/team.", "Thanks @|ada, and @|acme/team."],
    ["(@all) _@here_ **@channel**", "(@|all) _@|here_ **@|channel**"],
    ["@{557058:1} @[Ada](x)", "@|{557058:1} @|[Ada](x)"],
    ["&#64;ada &#x40;ada &commat;ada \\@ada @&#97;da", "&#64;|ada &#x40;|ada &commat;|ada \\@|ada @|&#97;da"],
    ["é@ada", "é@|ada"],
    ["`x`@ada", "`x`@|ada"],
    ["a ` b @ada", "a ` b @|ada"],
    ["[@ada](https://x.test/@ada)", "[@|ada](https://x.test/@ada)"],
    ["<details>\n```\n@ada\n```\n</details>", "<details>\n```\n@|ada\n```\n</details>"],
    ["> - @ada", "> - @|ada"],
    ["`a | @ada ` | b\n- | -", "`a | @|ada ` | b\n- | -"],
    ["x[^1]\n\n[^1]: y\n\n    @ada", "x[^1]\n\n[^1]: y\n\n    @|ada"],
    [">>>\n```\n>>>\n@ada\n```", ">>>\n```\n>>>\n@|ada\n```"],
    ["https://x.test/`a `@ada `", "https://x.test/`a `@|ada `"],
    ["[ https://x.test/@ada", "[ https://x.test/%40ada"],
    ["**https://x.test/@ada**", "**https://x.test/%40ada**"],
  ])("%j notifies nobody", (text, shown) => {
    expect(show(text)).toBe(shown);
    expect(show(text, { allowMentions: true })).toBe(text);
  });

  test.each([
    "`@ada`",
    "```ts\n@Injectable()\n```",
    "    @ada",
    "Do this:\n\n1. Run\n   ```sh\n   npm i @acme/x\n   ```\n2. See `@acme/x`, [`@acme/y`](https://x.test/@acme/y)",
    "| a | b |\n| - | - |\n| `@ada` | it's <https://x.test/@ada> |",
    "> ```\n> @ada\n> ```",
    "write to ada@example.com",
    "https://x.test/@ada and <https://x.test/@ada>",
    "3 @ 4",
  ])("%j is none", (text) => expect(show(text)).toBe(text));
});

describe("a closing keyword", () => {
  test.each([
    ["Fixes #1", "Fix|es #1"],
    ["this closes: acme/app#12.", "this clos|es: acme/app#12."],
    ["resolved GH-3", "resolv|ed GH-3"],
    ["fix https://github.com/acme/app/issues/1", "fix| https://github.com/acme/app/issues/1"],
    ["Implements issue #4, fixing ENG-12", "Implement|s issue #4, fix|ing ENG-12"],
    ["fixes [#1](https://x.test)", "fix|es [#1](https://x.test)"],
    ["**fix**es &#35;1, f&#105;xes #1", "**fix**|es &#35;1, f&#105;x|es #1"],
    ["[closes][a] #1, reopens #2", "[clos|es][a] #1, reopen|s #2"],
  ])("%j closes nothing", (text, shown) => {
    expect(show(text)).toBe(shown);
    expect(show(text, { allowClosing: true })).toBe(text);
  });

  test.each(["It fixes the bug of #1.", "`fixes #1`", "prefix #1", "a fixture #1"])("%j is none", (text) =>
    expect(show(text)).toBe(text),
  );
});

test("a line that commands the place is only text", () => {
  expect(show("Fine.\n/merge\n  /close\n```\n/usr/bin\n```")).toBe("Fine.\n|/merge\n  |/close\n```\n/usr/bin\n```");
  expect(show("~~~\n/close\n~~~\n```\n/close\n``` \n```\n/close")).toBe(
    "~~~\n|/close\n~~~\n```\n|/close\n``` \n```\n|/close",
  );
});

describe("an image", () => {
  test.each([
    ["![a](https://evil.test/?q=secret)", "!|[a](https://evil.test/?q=secret)"],
    ["!![a](https://evil.test)", "!!|[a](https://evil.test)"],
    ["![a][b]\n\n[b]: https://evil.test", "!|[a][b]\n\n[b]: https://evil.test"],
    ["![a](//evil.test/a.png)", "!|[a](//evil.test/a.png)"],
    ["![a](https&#58;//evil.test)", "!|[a](https&#58;//evil.test)"],
    ["![a](https&colon;//evil.test)", "!|[a](https&colon;//evil.test)"],
    ["![a](https\\://evil.test)", "!|[a](https\\://evil.test)"],
    ["![a](/&#47;evil.test)", "!|[a](/&#47;evil.test)"],
    ["[![a](https://evil.test)](https://x.test)", "[!|[a](https://evil.test)](https://x.test)"],
    ['<img src="https://evil.test">', '&lt;img src="https://evil.test">'],
    ["<div>\n![a](https://evil.test)\n</div>", "&lt;div>\n!|[a](https://evil.test)\n&lt;/div>"],
  ])("%j of another host is a link", (text, shown) => expect(show(text)).toBe(shown));

  test("of the own host, and any one that is allowed, is shown", () => {
    const own = "![a](https://github.com/user-attachments/1) ![b](/acme/app/raw/b.png)";
    expect(show(own)).toBe(own);
    expect(show("![a](https://x.test)", { allowImages: true })).toBe("![a](https://x.test)");
  });
});

test("HTML that only arranges text stays; a comment, which nobody would see, is shown", () => {
  const table = "<details><summary>Log</summary>\n\nH<sub>2</sub>O<br>\n\n</details>";
  expect(show(table)).toBe(table);
  expect(show("<!-- hookline:1 -->")).toBe("&lt;!-- hookline:1 -->");
  expect(show('<a href="https://x.test" onclick="x">y</a>')).toBe('&lt;a href="https://x.test" onclick="x">y&lt;/a>');
});

test.each([
  ["Thanks @ada and <@U123>. <!channel>", "Thanks @|ada and <@|U123>. <|!channel>"],
  ["fixes #1\n/close", "fix|es #1\n|/close"],
  ["a < b, ada@example.com, https://x.test/@ada", "a < b, ada@example.com, https://x.test/@ada"],
])("plain text %j has no effects", (text, shown) =>
  expect(neutralizePlain(text).replaceAll("\u200B", "|")).toBe(shown),
);

test("a text that is made to take long is neutral too", () => {
  for (const start of ["[a](", "- ", "> ", "**a_", "<a ", "<div>\n\n"]) {
    const text = show(`${start.repeat(1500)}\n\n![a](https://evil.test) @ada`);
    expect(text.endsWith("!|[a](https://evil.test) @|ada")).toBe(true);
  }
});

test.each(["@", "a@", " ", "\t", "\r", "/a\n", "```\n", "![", "<!"])(
  "100,000 characters of %j are read once",
  (part) => {
    const text = `${part.repeat(100_000 / part.length)}\n\nHello @ada`;
    for (const neutral of [show(text), neutralizePlain(text).replaceAll("\u200B", "|")]) {
      expect(neutral.endsWith("Hello @|ada")).toBe(true);
    }
  },
);

test("what is neutral stays the same", () => {
  for (const text of ["Thanks @ada", "<img>\n\n@x fixes #1", "![a](https://evil.test)"]) {
    const once = neutralize(text, { host });
    expect(neutralize(once, { host })).toBe(once);
  }
});

test("no text has an effect in a parser, or is a quick action of GitLab", () => {
  fc.assert(
    fc.property(hostileMarkdown, (text) => {
      const neutral = neutralize(text, NEUTRAL);
      const effects = Object.entries(PARSERS).map(([parser, toHtml]) => [parser, findEffects(toHtml(neutral))]);
      expect([...effects, findQuickActions(neutral)].flat(2)).toEqual(Object.keys(PARSERS));
    }),
    { numRuns: 300 },
  );
});
