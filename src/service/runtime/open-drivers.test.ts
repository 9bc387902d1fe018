import { expect, test } from "vitest";
import { toSource } from "../../../test/support/mapping.ts";
import type { Auth } from "../../core/config/schema/generated.ts";
import type { MappingSource } from "../../core/config/resolved-config.ts";
import { readConfig } from "../drivers.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { groupSenders, openDrivers } from "./open-drivers.ts";

const GITHUB = { scheme: "github", secret: ["one", "two"] };

const source = (id: string, path: string, auth: Auth, preset?: string): MappingSource => ({
  ...toSource({ id, match: { path }, auth, messageTemplate: "x" }),
  preset,
});

function group(...mappings: MappingSource[]): [string, string, string[]][] {
  return groupSenders(mappings).map((sender) => [sender.hook, sender.credential, sender.mappings.map(({ id }) => id)]);
}

test("mappings of one path with equal auth share a credential, named after the first", () => {
  expect(
    group(
      source("a", "github", GITHUB),
      source("b", "/github/", { ...GITHUB }),
      source("c", "github", { ...GITHUB, secret: "one" }),
      source("d", "other", GITHUB),
      { ...source("e", "github", GITHUB), mapping: { match: { path: "github" } } },
    ),
  ).toEqual([
    ["github", "auth:a", ["a", "b"]],
    ["github", "auth:c", ["c"]],
    ["other", "auth:d", ["d"]],
  ]);
});

test("a preset's credential has its name; used twice, the second has that of its path", () => {
  const first = source("github-0", "github", GITHUB, "github");
  const second = source("issues-0", "issues", GITHUB, "github");
  expect(group(second)).toEqual([["issues", "auth:github", ["issues-0"]]]);
  expect(group(first, second)).toEqual([
    ["github", "auth:github", ["github-0"]],
    ["issues", "auth:issues", ["issues-0"]],
  ]);
});

test("a credential that a written mapping already has is not given twice", () => {
  const own = source("github", "issues", { ...GITHUB, secret: "x" });
  expect(group(own, source("issues-0", "issues", GITHUB, "github"))).toEqual([
    ["issues", "auth:github", ["github"]],
    ["issues", "auth:issues", ["issues-0"]],
  ]);
});

test("a driver does not report what a rule has reported about its block, or about what a preset was given for it", async () => {
  const secret = "no-colon-in-the-secret";
  const mapping = { match: { path: "a" }, messageTemplate: "a", auth: { scheme: "basic", secret } };
  const presets = [{ use: "jenkins", with: { secret } }];
  const read = await readConfig({ hooks: { presets, mappings: [mapping] } }, {});
  expect(read.problems.filter(({ message }) => message === "The secret must be user:password.")).toHaveLength(2);
  const { problems } = await openDrivers(read, { log: silentLog });
  expect(problems).toEqual([]);
});
