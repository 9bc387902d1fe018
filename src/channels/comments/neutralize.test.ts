import { describe, expect, test } from "vitest";
import { neutralize, neutralizePlain } from "./neutralize.ts";

const host = "github.com";
/** The gap shown as `|`. */
const show = async (text: string, options = {}) =>
  (await neutralize(text, { host, ...options })).replaceAll("\u200B", "|");

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
  ])("%j notifies nobody", async (text, shown) => {
    expect(await show(text)).toBe(shown);
    expect(await show(text, { allowMentions: true })).toBe(text);
  });

  test.each([
    "`@ada`",
    "```ts\n@Injectable()\n```",
    "    @ada",
    "write to ada@example.com",
    "https://x.test/@ada and <https://x.test/@ada>",
    "3 @ 4",
  ])("%j is none", async (text) => expect(await show(text)).toBe(text));
});

describe("a closing keyword", () => {
  test.each([
    ["Fixes #1", "Fix|es #1"],
    ["this closes: acme/app#12.", "this clos|es: acme/app#12."],
    ["resolved GH-3", "resolv|ed GH-3"],
    ["fix https://github.com/acme/app/issues/1", "fix| https://github.com/acme/app/issues/1"],
    ["Implements issue #4, fixing ENG-12", "Implement|s issue #4, fix|ing ENG-12"],
    ["fixes [#1](https://x.test)", "fix|es [#1](https://x.test)"],
  ])("%j closes nothing", async (text, shown) => {
    expect(await show(text)).toBe(shown);
    expect(await show(text, { allowClosing: true })).toBe(text);
  });

  test.each(["It fixes the bug of #1.", "`fixes #1`", "prefix #1", "a fixture #1"])("%j is none", async (text) =>
    expect(await show(text)).toBe(text),
  );
});

test("a line that commands the place is only text", async () => {
  expect(await show("Fine.\n/merge\n  /close\n```\n/usr/bin\n```")).toBe(
    "Fine.\n|/merge\n  |/close\n```\n/usr/bin\n```",
  );
});

describe("an image", () => {
  test.each([
    ["![a](https://evil.test/?q=secret)", "!|[a](https://evil.test/?q=secret)"],
    ["!![a](https://evil.test)", "!!|[a](https://evil.test)"],
    ["![a][b]\n\n[b]: https://evil.test", "!|[a][b]\n\n[b]: https://evil.test"],
    ["![a](//evil.test/a.png)", "!|[a](//evil.test/a.png)"],
    ["[![a](https://evil.test)](https://x.test)", "[!|[a](https://evil.test)](https://x.test)"],
    ['<img src="https://evil.test">', '&lt;img src="https://evil.test">'],
    ["<div>\n![a](https://evil.test)\n</div>", "&lt;div>\n!|[a](https://evil.test)\n&lt;/div>"],
  ])("%j of another host is a link", async (text, shown) => expect(await show(text)).toBe(shown));

  test("of the own host, and any one that is allowed, is shown", async () => {
    const own = "![a](https://github.com/user-attachments/1) ![b](/acme/app/raw/b.png)";
    expect(await show(own)).toBe(own);
    expect(await show("![a](https://x.test)", { allowImages: true })).toBe("![a](https://x.test)");
  });
});

test("HTML that only arranges text stays; a comment, which nobody would see, is shown", async () => {
  const table = "<details><summary>Log</summary>\n\nH<sub>2</sub>O<br>\n\n</details>";
  expect(await show(table)).toBe(table);
  expect(await show("<!-- hookline:1 -->")).toBe("&lt;!-- hookline:1 -->");
  expect(await show('<a href="https://x.test" onclick="x">y</a>')).toBe(
    '&lt;a href="https://x.test" onclick="x">y&lt;/a>',
  );
});

test.each([
  ["Thanks @ada and <@U123>. <!channel>", "Thanks @|ada and <@|U123>. <|!channel>"],
  ["fixes #1\n/close", "fix|es #1\n|/close"],
  ["a < b, ada@example.com, https://x.test/@ada", "a < b, ada@example.com, https://x.test/@ada"],
])("plain text %j has no effects", (text, shown) =>
  expect(neutralizePlain(text).replaceAll("\u200B", "|")).toBe(shown),
);

test("a text that is made to take long is neutral too", async () => {
  for (const start of ["[a](", "- ", "> ", "**a_", "<a ", "<div>\n\n"]) {
    const text = await show(`${start.repeat(4000)}\n\n![a](https://evil.test) @ada`);
    expect(text.endsWith("!|[a](https://evil.test) @|ada")).toBe(true);
  }
});

test("what is neutral stays the same", async () => {
  for (const text of ["Thanks @ada", "<img>\n\n@x fixes #1", "![a](https://evil.test)"]) {
    const once = await neutralize(text, { host });
    expect(await neutralize(once, { host })).toBe(once);
  }
});
