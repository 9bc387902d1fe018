import { describe, expect, test } from "vitest";
import { isSameMailbox, toSender } from "./address.ts";

describe("toSender", () => {
  test.each([
    ["ann@example.com", "ann@example.com"],
    ["Ann Lee <Ann@Example.com>", "ann@example.com"],
    ['"Lee, Ann <boss@corp.com>" <ann@example.com>', "ann@example.com"],
    ["Lee, Ann <ann@example.com>", "ann@example.com"],
    ["boss@corp.com <ann@example.com> (home)", "ann@example.com"],
    ["ann@example.com (boss@corp.com)", "ann@example.com"],
    ["grüße@bücher.example", "grüße@bücher.example"],
  ])("%s is %s", (field, sender) => {
    expect(toSender([field])).toBe(sender);
  });

  test.each([
    ["<evil@evil.test:x@corp.com>"],
    ["evil@evil.test:x@corp.com"],
    ["<@evil.test:x@corp.com>"],
    ['"evil@evil.test"@corp.com'],
    ["<evil@evil.test@corp.com>"],
    ["<evil@evil.test,x@corp.com>"],
    ["<evil@evil.test x@corp.com>"],
    ["evil@evil.test, <x@corp.com>"],
    ["<x@corp.com>, evil@evil.test"],
    ["<x@corp.com> <evil@evil.test>"],
    ["<x@corp.com> evil@evil.test"],
    ["<x@corp.com"],
    ["Ann"],
    [""],
    ["<x@corp.com>", "<evil@evil.test>"],
    [`${'"\\'.repeat(30_000)} <x@corp.com>`],
    [],
  ])("%s is not one address", (...fields) => {
    expect(toSender(fields)).toBe("");
  });
});

test.each([
  ["ann@example.com", "Ann@Example.com", true],
  ["ann.lee@gmail.com", "annlee@googlemail.com", true],
  ["ann+news@example.com", "ann@example.com", true],
  ["ann.lee+a.b@gmail.com", "annlee@gmail.com", true],
  ["ann.lee@example.com", "annlee@example.com", false],
  ["ann@example.com", "bob@example.com", false],
  ["ann@gmail.com", "ann@example.com", false],
  ["", "ann@example.com", false],
])("isSameMailbox(%j, %j) is %j", (one, other, expected) => {
  expect(isSameMailbox(one, other)).toBe(expected);
});
