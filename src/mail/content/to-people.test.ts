import { expect, test } from "vitest";
import { toPeople } from "./to-people.ts";

test.each([
  ["Ann Lee <Ann@Example.com>", "Ann Lee <Ann@Example.com>", "ann@example.com"],
  ["ann@example.com", "ann@example.com", "ann@example.com"],
  ["ann@example.com (Ann Lee)", "Ann Lee <ann@example.com>", "ann@example.com"],
  ["<ann@example.com>", "ann@example.com", "ann@example.com"],
  ['"Lee, Ann" <ann@example.com>', '"Lee, Ann" <ann@example.com>', "ann@example.com"],
  ["=?utf-8?Q?J=C3=B6rg?= <j@example.com>", "Jörg <j@example.com>", "j@example.com"],
  ["=?us-ascii?Q?J=C3=B6rg?= <j@example.com>", "Jörg <j@example.com>", "j@example.com"],
  ["root", "root", ""],
])("%j", (header, display, address) => {
  expect(toPeople([header], 10)).toEqual([{ display, address }]);
});

test("a name cannot be taken for the address", () => {
  const [person] = toPeople(['"boss@example.com" <else@example.net>'], 1);
  expect(person).toEqual({ display: '"boss@example.com" <else@example.net>', address: "else@example.net" });
});

test("the members of a group count, an empty group does not", () => {
  const people = toPeople(["Team: a@example.com, Bob <b@example.com>;", "undisclosed-recipients:;"], 10);
  expect(people.map(({ address }) => address)).toEqual(["a@example.com", "b@example.com"]);
});

test("only the first ones are given", () => {
  const many = Array.from({ length: 3000 }, (_, index) => `p${index}@example.com`).join(", ");
  expect(toPeople([many, many], 100)).toHaveLength(100);
});
