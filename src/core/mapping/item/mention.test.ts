import { expect, test } from "vitest";
import { createDiagnostics } from "../diagnostics.ts";
import { toSource } from "../../../../test/support/mapping.ts";
import type { MappingInput } from "../../config/schema/generated.ts";
import { compileMention } from "./mention.ts";
import { createBudget } from "../template/template.ts";

function mentions(mention: MappingInput["mention"], payload: object): boolean | undefined {
  const diagnostics = createDiagnostics(toSource({}));
  return compileMention({ mention }, diagnostics)?.mentions(payload, createBudget());
}

test.each([
  ["@bot please look", true],
  ["please, @Bot: look", true],
  ["(@bot)", true],
  ["look @bot.", true],
  ["look\n@bot", true],
  ["@bots look", false],
  ["@bot-two look", false],
  ["@bot/team look", false],
  ["a@bot.example look", false],
  ["@@bot", false],
  ["bot look", false],
  ["> @bot look", false],
  ["&gt; @bot look", false],
  ["`@bot` look", false],
  ["``a ` @bot`` look", false],
  ["```\n@bot\n```\nlook", false],
  ["~~~\n@bot", false],
  ["> quoted\n@bot look", true],
  ["", false],
])("%j: %j", (text, expected) => {
  expect(mentions({ text: "{{text}}", is: "@bot" }, { text })).toBe(expected);
  expect(mentions({ text: "{{text}}", is: ["@other", "@bot"] }, { text })).toBe(expected);
});

test.each([
  ["bot look", true],
  ["please, @Bot: look", true],
  ["a@bot.example look", false],
  ["a@bot look", false],
  ["@@bot", false],
  ["@bots look", false],
])("a name without an @ may have it in the text: %j: %j", (text, expected) => {
  expect(mentions({ text: "{{text}}", is: "bot" }, { text })).toBe(expected);
});

test("the sender's word counts, and alone with true", () => {
  const data = { text: "{{text}}", said: "{{direct}}" };
  expect(mentions({ ...data, is: true }, { direct: "yes" })).toBe(true);
  expect(mentions({ ...data, is: true }, { text: "true @agent" })).toBe(false);
  expect(mentions({ ...data, is: "@bot" }, { direct: "yes" })).toBe(true);
  expect(mentions({ ...data, is: false }, {})).toBeUndefined();
});
