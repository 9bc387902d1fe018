import { expect, test } from "vitest";
import { compilePlaces, describeElsewhere, PLACE_RULES } from "./bounds.ts";

test.each([
  // github, gitea, bitbucket, gitlab
  [undefined, ["acme/web"], ["acme/web", "acme/web#12", "ACME/Web!3", "acme/web/discussions/4/r5", "acme/web#"]],
  [undefined, ["acme"], ["acme/web#1", "acme/other/sub!2", "acme"]],
  [undefined, ["group:acme/tools"], ["acme/tools/x!1/d0f", "acme/tools#"]],
  [undefined, ["acme/*-web", "!acme/old-web"], ["acme/new-web!1", "acme/a-web#2"]],
  [undefined, ["!acme/secret"], ["acme/web#1", "other/x#2"]],
  [undefined, ["*"], ["acme/web#1"]],
  ["-/", ["OPS"], ["OPS-12", "ops-1/internal"]],
  ["-/", ["OPS", "WEB-7"], ["OPS-12/c0f", "WEB-7/s1"]],
  [undefined, ["C01"], ["C01", "C01:171.2"]],
  [undefined, ["-100"], ["-100:5", "-100/7:8", "-100/7"]],
  [";/", ["19:a@thread.tacv2"], ["19:a@thread.tacv2", "19:a@thread.tacv2;messageid=1"]],
])("with %j below a place, %j covers %j", (below, entries, covered) => {
  const covers = compilePlaces(entries, below);
  expect(covered.filter((to) => !covers(to))).toEqual([]);
});

test.each([
  [undefined, ["acme/web"], ["acme/website#1", "acme/web-2#1", "acme", "acme#1", "other/acme/web#1", "", "#1"]],
  [undefined, ["acme"], ["acme-12/secret!1", "acme2/x#1"]],
  [undefined, ["acme", "!acme/secret"], ["acme/secret", "ACME/Secret!1", "acme/secret/x#1"]],
  ["-/", ["OPS"], ["OPS2-1", "OP-1", "DEVOPS-1", ""]],
  ["-/", ["WEB-7"], ["WEB-70", "WEB-8"]],
  [undefined, ["C01"], ["C012", "C02:1.1", ":1.1", ""]],
  [";/", ["19:a@thread.tacv2"], ["19:b@thread.tacv2", "19"]],
])("with %j below a place, %j does not cover %j", (below, entries, others) => {
  const covers = compilePlaces(entries, below);
  expect(others.filter((to) => covers(to))).toEqual([]);
});

const HOSTILE = [
  "acme/web/../secret#1",
  "acme/web/..",
  "acme/./web#1",
  "acme/web//x#1",
  "/acme/web#1",
  "acme/web/#1",
  "acme/web\\..\\secret#1",
  "acme/web%2f..%2fsecret#1",
  "acme/web\nacme/secret#1",
  "acme/web\u2028#1",
  "acme/web\u0000#1",
  "acme/web\u200b#1",
  "acme/web#1/../../secret/2",
  "..",
];

test("no entry covers a hostile recipient", () => {
  const everything = [compilePlaces(["*"]), compilePlaces(["!other"]), compilePlaces(["acme", "acme/web", ".."])];
  expect(HOSTILE.filter((to) => everything.some((covers) => covers(to)))).toEqual([]);
});

test("without the rule for hostile recipients, they are covered", () => {
  const { isPlain } = PLACE_RULES;
  PLACE_RULES.isPlain = () => true;
  expect(HOSTILE.filter((to) => compilePlaces(["*"])(to))).toEqual(HOSTILE);
  PLACE_RULES.isPlain = isPlain;
});

test.each([
  ["acme/secret#5", undefined, "it is about acme/secret, which is not in place"],
  ["acme/secret/discussions/4", undefined, "it is about acme/secret, which is not in place"],
  ["acme/secret!", undefined, "it is about acme/secret, which is not in place"],
  ["DEV-12/internal", "-/", "it is about DEV, which is not in place"],
  ["C02:171.2", undefined, "it is about C02, which is not in place"],
  ["19:b@thread.tacv2;messageid=1", ";/", "it is about 19:b@thread.tacv2, which is not in place"],
  ["acme/web\nacme/secret#1", undefined, "it is about acme/web acme/secret, which is not in place"],
  ["#", undefined, "it names no place, so it is not in place"],
])("the reason for %j", (to, below, reason) => {
  expect(describeElsewhere(to, below)).toBe(reason);
});
