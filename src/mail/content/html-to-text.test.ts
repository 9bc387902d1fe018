import { expect, test } from "vitest";
import { htmlToText } from "./html-to-text.ts";

test.each([
  [
    "a title and styles are not shown",
    "<html><head><title>T</title><style>p{}</style></head><body><script>x</script>text</body></html>",
    "text",
  ],
  ["what stands outside of the body is", "before<body>in</body>after", "beforeinafter"],
  ["links", '<a href="https://a.example/x?y=1">words</a>', "words [https://a.example/x?y=1]"],
  [
    "a link that says where it leads",
    '<a href="https://a.example">https://a.example</a>',
    "https://a.example",
  ],
  [
    "a picture that links",
    '<a href="https://a.example"><img src="x.png" alt="Shop"></a>',
    "https://a.example",
  ],
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
    "what is hidden",
    '<p hidden>a</p><p style="color:red; DISPLAY:none">b</p><p style="display: none!important">c</p>seen',
    "seen",
  ],
  ["padding of a preview", "<p>Hi&zwnj;&nbsp;&#847;&zwnj;&nbsp;&shy;</p><p>text</p>", "Hi\n\ntext"],
  ["joined characters", "<p>👩&zwj;👧</p>", "👩‍👧"],
  ["a comment without end", "a<!-- b", "a"],
  ["an element that the library cannot take", "<constructor>text</constructor>", "text"],
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
