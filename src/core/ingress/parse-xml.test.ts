import { describe, expect, test } from "vitest";
import { parseXml } from "./parse-xml.ts";

const parse = (text: string): unknown => parseXml(Buffer.from(text), null);

test("gives tags, attributes and text; repeated tags as an array", () => {
  const xml = '<?xml version="1.0"?><!-- x --><a id="1"><b>007</b><b/>text <x:c d="2">c</x:c></a>';
  expect(parse(xml)).toEqual({
    a: { $id: "1", b: ["007", ""], "x:c": { $d: "2", $: "c" }, $: "text" },
  });
});

test("only the entities of XML itself are decoded, and none in CDATA", () => {
  expect(
    parse('<a b="&lt;&quot;">x &amp;lt; &#233;&#x1F600; &nbsp; &#x110000;<![CDATA[<!DOCTYPE html> &amp;]]></a>'),
  ).toEqual({
    a: { $b: '<"', $: "x &lt; é😀 &nbsp; &#x110000;<!DOCTYPE html> &amp;" },
  });
});

describe("the charset", () => {
  const É = Buffer.from([0x3c, 0x61, 0x3e, 0xe9, 0x3c, 0x2f, 0x61, 0x3e]);
  const declared = (encoding: string): Buffer => Buffer.from(`<?xml version="1.0" encoding="${encoding}"?>`);

  test.each<[string, Buffer, string | null]>([
    ["of the content type", É, "iso-8859-1"],
    ["that the XML declares", Buffer.concat([declared("ISO-8859-1"), É]), null],
    ["of the content type rather than the declared one", Buffer.concat([declared("utf-8"), É]), "iso-8859-1"],
    [
      "of the byte order mark",
      Buffer.from('\ufeff<?xml version="1.0" encoding="utf-16"?><a>é</a>', "utf16le"),
      "utf-8",
    ],
    ["UTF-8", Buffer.from("\ufeff<a>é</a>"), null],
  ])("%s counts", (_what, body, charset) => {
    expect(parseXml(body, charset)).toEqual({ a: "é" });
  });

  test("does not match or is unknown: the body is refused", () => {
    expect(() => parseXml(É, null)).toThrow(expect.objectContaining({ status: 400, code: "invalid_xml" }));
    expect(() => parseXml(É, "klingon")).toThrow(expect.objectContaining({ status: 415 }));
  });
});

const LAUGHS = `<!DOCTYPE lolz [<!ENTITY lol "lol">${Array.from({ length: 9 }, (_, n) => `<!ENTITY lol${n} "${"&lol;".repeat(10)}">`).join("")}]>`;

test.each([
  ["a billion laughs", `<?xml version="1.0"?>${LAUGHS}<lolz>&lol8;</lolz>`],
  ["an external entity", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
  ["an external document type", '<!DOCTYPE a SYSTEM "http://127.0.0.1/"><a/>'],
  ["a document type after a comment", "<!-- x --><!DOCTYPE a><a/>"],
])("%s is refused as a document type", (_what, xml) => {
  expect(() => parse(xml)).toThrow(expect.objectContaining({ status: 400, message: expect.stringMatching(/DOCTYPE/) }));
});

test.each([
  ["nothing", ""],
  ["text", "hello"],
  ["a comment", "<!-- x -->"],
  ["tags that do not match", "<a><b></a></b>"],
  ["an open tag", "<a><b>"],
  ["two roots", "<a></a><b></b>"],
  ["an open quote", '<a b="'],
  ["half a million <", "<".repeat(500_000)],
  ["nesting 100,000 deep", "<a>".repeat(100_000) + "</a>".repeat(100_000)],
  ["a tag __proto__", "<__proto__><admin>1</admin></__proto__>"],
])("%s is refused", (_what, xml) => {
  expect(() => parse(xml)).toThrow(expect.objectContaining({ status: 400, message: "The body is not valid XML." }));
});

test("may nest 1000 levels deep", () => {
  expect(JSON.stringify(parse("<a>".repeat(1000) + "</a>".repeat(1000)))).toBe(
    `${'{"a":'.repeat(1000)}""${"}".repeat(1000)}`,
  );
});
