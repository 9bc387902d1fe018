import { describe, expect, test } from "vitest";
import { parseXml } from "../../ingress/parse-xml.ts";
import * as fc from "../../../../test/support/property.ts";
import { compileTemplate } from "./template.ts";

const hostile = fc.oneof(
  fc.array(fc.constantFrom(..."\"'\\<>&;]-!?/{}[],: \n\t\u0000\u001f\u2028\ufffe\ud800ax".split(""), "]]>", "-->")),
  fc.array(fc.anyCharacter),
);

test("any value of JSON stays a value", () => {
  const template = compileTemplate(
    '{ "{{a}}": ["{{b}}", {{json b}}{{#if a}}, "x{{a}}"{{/if}}], "{{b}}": null }',
    "json",
  );
  fc.assert(
    fc.property(hostile, hostile, (first, second) => {
      const [a, b] = [`a${first.join("")}`, `b${second.join("")}`];
      expect(JSON.parse(template.render({ a, b }))).toEqual({ [a]: [b, b, `x${a}`], [b]: null });
    }),
  );
});

test("any value of XML stays text", () => {
  const template = compileTemplate(`<a b="{{v}}" c='{{v}}'>x{{{v}}}x</a>`, "xml");
  fc.assert(
    fc.property(hostile, (parts) => {
      const v = parts.join("");
      const text = v.replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "");
      const rendered = template.render({ v });
      expect(parseXml(Buffer.from(rendered), null)).toMatchObject({ a: { $: `x${text}x` } });
      expect(rendered).toMatch(/^<a b="[^<>"]*" c='[^<>']*'>[^<>]*<\/a>$/u);
    }),
  );
});

test("the same text is another template in another syntax", () => {
  const render = (syntax: "json" | "xml" | "plain"): string => compileTemplate('"{{v}}"', syntax).render({ v: '<"' });
  expect([render("plain"), render("json"), render("xml")]).toEqual(['"<""', '"<\\""', '"&#60;&#34;"']);
});

describe("a value at a place where it cannot be escaped is refused", () => {
  test.each([
    ['{ "text": {{v}} }', "in quotes"],
    ['["{{json v}}"]', "quotes itself"],
    ['"\\\\{{v}}"', "backslash"],
    ['["a{{#if v}}"{{/if}}]', "whole JSON"],
    ['{ "a": {{default (json v) 1}} }', "in quotes"],
    ['{ "a": "{{v}} }', "ends within a text"],
    ['{ "a": "{{v}}", }', "does not give JSON"],
  ])("in JSON: %s", (source, message) => {
    expect(() => compileTemplate(source, "json")).toThrow(message);
  });

  test.each([
    ["<a {{v}}/>", "in a tag"],
    ["<a b={{v}}/>", "in a tag"],
    ["<{{v}}/>", "in a tag"],
    ["</{{v}}>", "in a tag"],
    ["<!-- > {{v}} --><a/>", "in a comment"],
    ["<a><![CDATA[ > {{v}}]]></a>", "in a CDATA section"],
    ["<?x {{v}}?><a/>", "in a declaration"],
    ['<!DOCTYPE a [<!ENTITY b "{{v}}">]><a/>', "in a declaration"],
    ["<a{{#if v}}>{{/if}}x</a>", "whole XML"],
    ['<a b="{{v}}', "ends within an attribute"],
  ])("in XML: %s", (source, message) => {
    expect(() => compileTemplate(source, "xml")).toThrow(message);
  });
});
