import { expect, test } from "vitest";
import { cleanLine, cleanText, cutBytes, htmlToText, toSnippet } from "./text.ts";

test.each([
  [
    "a title and styles are not shown",
    "<html><head><title>T</title><style>p{}</style></head><body><script>x</script>text</body></html>",
    "text",
  ],
  ["text outside of the body is shown", "before<body>in</body>after", "beforeinafter"],
  ["links", '<a href="https://a.example/x?y=1">words</a>', "words [https://a.example/x?y=1]"],
  ["a link that shows its target", '<a href="https://a.example">https://a.example</a>', "https://a.example"],
  ["a picture that links", '<a href="https://a.example"><img src="x.png" alt="Shop"></a>', "https://a.example"],
  ["headings", "<h1>Big</h1><p>small</p>", "Big\n\nsmall"],
  [
    "a table",
    "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>3 EUR</td></tr></table>",
    "Item  Price\nTea  3 EUR",
  ],
  ["a list", "<ul><li>one</li><li>two</li></ul>", "- one\n- two"],
  ["a quote", "<p>own</p><blockquote><p>theirs</p><p>more</p></blockquote>", "own\n\n> theirs\n>\n> more"],
  ["entities", "&lt;b&gt; &amp;amp; &eacute;", "<b> &amp; é"],
  [
    "hidden elements",
    '<p hidden>a</p><p style="color:red; DISPLAY:none">b</p><p style="display: none!important">c</p>seen',
    "seen",
  ],
  ["padding of a preview", "<p>Hi&zwnj;&nbsp;&#847;&zwnj;&nbsp;&shy;</p><p>text</p>", "Hi\n\ntext"],
  ["joined characters", "<p>👩&zwj;👧</p>", "👩‍👧"],
  ["a comment without end", "a<!-- b", "a"],
  ["an element that the library cannot convert", "<constructor>text</constructor>", "text"],
])("%s", (_, html, text) => {
  expect(htmlToText(html).trim()).toBe(text);
});

test.each(["blockquote", "ul><li", "ol><li", "div", "table><tr><td", "a href=x", "pre", "b"])(
  "a thousand levels of <%s> around many lines do not grow",
  (tag) => {
    const html = `${`<${tag}>`.repeat(20)}${"<br>line".repeat(5000)}${`<${tag}>`.repeat(1000)}`;
    expect(htmlToText(html).length).toBeLessThan(2 * html.length);
  },
);

test("of all control characters a text keeps tabs and line feeds", () => {
  expect(cleanText("a\r\nb\rc\u0085d\u2028e\tf\0\u0007\u001b\u007f\u009bg")).toBe("a\nb\nc\nd\ne\tfg");
});

test("half a character is replaced", () => {
  expect(cleanText("a\ud83d b\udc00")).toBe("a\ufffd b\ufffd");
});

test("a line is one line", () => {
  expect(cleanLine("  a\r\n\t b\u00a0\u2029c  ")).toBe("a b c");
});

test("a long line is never cut within a character", () => {
  expect(cleanLine("a🚀b", 2)).toBe("a");
  expect(cleanLine("a🚀b", 3)).toBe("a🚀");
  expect(cleanLine("x".repeat(2000))).toHaveLength(998);
});

test.each([
  ["abc", 3, "abc"],
  ["abc", 2, "ab"],
  ["aé", 2, "a"],
  ["aé", 3, "aé"],
  ["a🚀", 4, "a"],
  ["🚀", 3, ""],
  ["語語", 5, "語"],
  ["", 0, ""],
])("%j in %i bytes is %j", (text, bytes, expected) => {
  expect(cutBytes(text, bytes)).toBe(expected);
});

test("a snippet is one line", () => {
  expect(toSnippet("Hello,\n\nhow are   you?\n")).toBe("Hello, how are you?");
});

test("a snippet has no quotes if there is other text", () => {
  expect(toSnippet("On Monday, Ann wrote:\n> Are you there?\n>> Yes?\n\nI am.")).toBe("I am.");
  expect(toSnippet("Gut.\n\nAm 20.11. schrieb Ann:\n\n> Wie?\n> So?\nBis dann")).toBe("Gut. Bis dann");
  expect(toSnippet("What I need:\n- tea\n- milk")).toBe("What I need: - tea - milk");
  expect(toSnippet("> Are you there?")).toBe("> Are you there?");
});

test("a snippet never cuts what a reader sees as one character", () => {
  const family = "👩‍👩‍👧‍👦";
  expect(toSnippet(`${"x".repeat(198)}${family}`)).toBe("x".repeat(198));
  expect(toSnippet(`${"x".repeat(198)}${family}`.slice(0, 200))).toHaveLength(200);
  expect(toSnippet("x".repeat(201))).toHaveLength(200);
});
