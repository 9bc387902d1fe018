import { describe, expect, test } from "vitest";
import { isSameMailbox, parseAddresses, toSender } from "./addresses.ts";

test.each<[header: string, ...mailboxes: string[]]>([
  ["Doe, Jane <jane@example.com>", "Doe, Jane|jane@example.com"],
  ["Lee; Ann <ann@example.com>; Bob <b@example.com>", "Lee; Ann|ann@example.com", "Bob|b@example.com"],
  ["Smith, J., Jr. <s@example.com>, b@example.com", "Smith, J., Jr.|s@example.com", "|b@example.com"],
  ["=?utf-8?Q?Doe,_J=C3=A4ne?= <jane@example.com>", "Doe, Jäne|jane@example.com"],
  ["=?utf-8?Q?Doe=2C_Jane?= <jane@example.com>, b@example.com", "Doe, Jane|jane@example.com", "|b@example.com"],
  ['"Doe, \\"J\\" (x)" <jane@example.com>', 'Doe, "J" (x)|jane@example.com'],
  ["jane@example.com (Jane (at home) Doe)", "Jane (at home) Doe|jane@example.com"],
  ["Jane (at (home)) <jane@example.com>", "Jane|jane@example.com"],
  ["<jane@example.com> (Jane)", "Jane|jane@example.com"],
  ["root, jane@example.com", "root|", "|jane@example.com"],
  ["Team: Doe, Jane <jane@example.com>, b@example.com;", "Doe, Jane|jane@example.com", "|b@example.com"],
  ["Sales: West <west@example.com>", "Sales: West|west@example.com"],
  ["undisclosed-recipients:;"],
  ["Doe, Jane", "Doe|", "Jane|"],
  ['"Jane <jane@example.com>', '"Jane|jane@example.com'],
  ["Jane (x <jane@example.com>", "Jane (x|jane@example.com"],
])("%j", (header, ...mailboxes) => {
  expect(parseAddresses(header).map(({ name, address }) => `${name}|${address}`)).toEqual(mailboxes);
});

test.each(["(", '"\\"', "<", "=?a?q?", ",", ":;", "((a)"])("a header of %s takes linear time", (text) => {
  expect(parseAddresses(text.repeat(65_536 / text.length)).length).toBeLessThan(70_000);
});

describe("toSender", () => {
  test.each([
    ["ann@example.com", "ann@example.com"],
    ["Ann Lee <Ann@Example.com>", "ann@example.com"],
    ['"Lee, Ann <boss@corp.com>" <ann@example.com>', "ann@example.com"],
    ["Lee, Ann <ann@example.com>", "ann@example.com"],
    ["boss@corp.com <ann@example.com> (home)", "ann@example.com"],
    ["ann@example.com (boss@corp.com)", "ann@example.com"],
    ["grüße@bücher.example", "grüße@bücher.example"],
    ["Lee; Ann <ann@example.com>", "ann@example.com"],
    ["=?utf-8?Q?Lee,_Ann?= <ann@example.com>", "ann@example.com"],
    ["ann@example.com (Ann (at home) Lee)", "ann@example.com"],
    ['Ann (a \\) and "b) <ann@example.com>', "ann@example.com"],
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
    ["(<x@corp.com> (a) <evil@evil.test>"],
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
