import { expect, test } from "vitest";
import type { MappingInput } from "../schema/generated.ts";
import { checkWorkspace } from "./workspaces.ts";

const providers = {
  coder: { kind: "acp", sandbox: true },
  script: { kind: "command", sandbox: { model: "api/tiny" } },
  loose: { kind: "command", sandbox: false },
  api: { kind: "openai" },
};
const config = {
  agents: { providers, model: "coder/default", models: [{ id: "loose/x", alias: "fast" }] },
  channels: { github: {}, "github:eu": {}, slack: {} },
  channelNames: ["github", "github:eu", "slack"],
  forges: ["github", "gitlab", "gitea"],
} as unknown as Parameters<typeof checkWorkspace>[1];

/** The findings about one mapping, each as a line. */
function check(mapping: MappingInput, preset?: string, agents: object = config.agents): string[] {
  const source = { mapping, key: "m", id: "m", preset } as unknown as Parameters<typeof checkWorkspace>[0];
  const findings = checkWorkspace(source, { ...config, agents } as typeof config);
  return findings.map(({ level, key, message }) => `${level} ${key}: ${message}`);
}

const AT = { repository: "github:acme/app" };

test.each<[string, MappingInput]>([
  ["an account and a repository", { workspace: AT }],
  ["one of several accounts", { workspace: { repository: "github:eu:acme/app" } }],
  ["a repository of the event, within place", { workspace: { repository: "github:{{repo}}" }, place: ["acme/app"] }],
  ["a change that a person approves", { workspace: AT, grants: { "github.change": "ask" } }],
  ["a change that goes to a fork", { workspace: { ...AT, pushTo: "bot/app" }, grants: { "github.change": "allow" } }],
  ["a program in a sandbox", { workspace: AT, model: "script/default" }],
  ["a model that the event chooses", { workspace: AT, model: "{{model}}" }],
  ["no workspace", { model: "api/tiny" }],
])("fine: %s", (_, mapping) => {
  expect(check(mapping)).toEqual([]);
});

test.each<[string, MappingInput, RegExp]>([
  ["no repository", { workspace: true }, /^error m\.workspace: Name the repository/],
  ["no account", { workspace: { repository: "acme/app" } }, /^error m\.workspace\.repository: "acme\/app" is no repo/],
  ["no owner", { workspace: { repository: "github:app" } }, /^error m\.workspace\.repository: "github:app" is no repo/],
  [
    "a service without repositories",
    { workspace: { repository: "slack:acme/app" } },
    /There are no repositories at slack/,
  ],
  ["an account that is not configured", { workspace: { repository: "gitlab:acme/app" } }, /^error .*gitlab/],
  ["another account that is not", { workspace: { repository: "github:us:acme/app" } }, /^error .*github:us/],
  [
    "a repository of the event",
    { workspace: { repository: "github:{{repo}}" } },
    /nothing says which it may be\. Set place/,
  ],
  ["a model without files", { workspace: AT, model: "api/tiny" }, /The model "api\/tiny" has no files to work on/],
  ["a program without a sandbox", { workspace: AT, model: "loose/x" }, /The model "loose\/x" is in no sandbox/],
  ["the same by its alias", { workspace: AT, model: "fast" }, /The model "loose\/x" is in no sandbox/],
  ["a fallback without files", { workspace: AT, fallbackModels: ["api/tiny"] }, /The model "api\/tiny" has no files/],
  [
    "changes without a workspace",
    { grants: { "github.change": "ask" } },
    /^warning m\.grants.*: It is not used: it is for/,
  ],
  [
    "changes of another service",
    { workspace: AT, grants: { "gitlab.change": "ask" } },
    /^warning m\.grants.*: It is not used: changes of this workspace are github\.change/,
  ],
  [
    "a change that nobody looks at",
    { workspace: AT, grants: { "github.change": "allow" } },
    /^warning m\.grants.*: What an agent pushes is run by the repository's checks, with the repository's secrets/,
  ],
  [
    "the same in the long form",
    { workspace: AT, grants: { "github.change": { mode: "allow" } } },
    /^warning m\.grants.*: What an agent pushes is run/,
  ],
])("found: %s", (_, mapping, line) => {
  expect(check(mapping)).toEqual([expect.stringMatching(line)]);
});

test("a preset bounds the repository by itself, and a model must be named somewhere", () => {
  const chosen = { workspace: { repository: "github:{{repository.full_name}}" } };
  expect(check(chosen, "github")).toEqual([]);
  const { model: _, ...others } = config.agents;
  expect(check({ workspace: AT }, undefined, others)).toEqual([
    expect.stringMatching(/^error m\.workspace: No model is named\. Choose a model/),
  ]);
});
