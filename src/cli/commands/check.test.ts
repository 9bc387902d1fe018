import { expect, test } from "vitest";
import { checkConfig } from "../../service/drivers.ts";
import { describeModelCalls, formatAuthority } from "./check.ts";

const providers = { local: { kind: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1" } };
const template = { messageTemplate: "x", textTemplate: "x" };
const later = { wakeMode: "next-heartbeat" };

async function describeFor(agents: object): Promise<string[]> {
  const mapping = (id: string, fields: object) => ({ id, match: { path: id }, messageTemplate: "x", ...fields });
  const mappings = [
    mapping("push", {}),
    mapping("issues", {}),
    mapping("alerts", { forEach: "alerts", ...later }),
    mapping("note", { action: "wake", ...template }),
    mapping("log", { agent: "none", ...later }),
  ];
  const { config } = await checkConfig({ agents, hooks: { mappings } }, { baseDir: "/", env: {} });
  return describeModelCalls(config);
}

test("mappings that cost the same are one line", async () => {
  const defaults = { model: "local/x", heartbeat: { joinWindow: "30s" } };
  expect(await describeFor({ providers, defaults })).toEqual([
    "model calls of an event: 1, 1 for the heartbeat, which all within 30 s share (push, issues)",
    "model calls of an event: 1 for each item (alerts)",
    "model calls of an event: 1 for the heartbeat, which all within 30 s share (note)",
    "model calls of an event: none by itself (log)",
  ]);
});

test("without a provider nothing costs anything", async () => {
  expect(await describeFor({})).toEqual([]);
});

test("the table of authority fits a terminal, and keeps its two columns", () => {
  const row = {
    hook: "github",
    credential: "auth:github",
    asks: [{ events: ["review", "comment", "commit_comment"], from: ["member", "github:9"] }],
    tells: ["anyone"],
    place: ["acme/web", "acme/app"],
    reads: ["diff"],
    writes: ["comments", "github.label(labels)"],
    continues: ["hook:github:"],
    approves: [],
    alone: [],
    sharedWith: [],
  };
  const all = { ...row, hook: "wake, agent, alertmanager, argocd, azuredevops", credential: "token:default", asks: [] };
  const format = (columns: number | undefined): string[] =>
    formatAuthority([row, all], { stdout: { columns } as never, env: {} });
  expect(format(80)).toEqual([
    "",
    "github  start review, comment, commit_comment: member, github:9 · tells: anyone ",
    "        in acme/web, acme/app",
    "        read diff · write comments, github.label(labels) · continue",
    "        hook:github: · approve – · alone –",
    "wake, agent, alertmanager, argocd, azuredevops",
    "        start tells: anyone  in acme/web, acme/app",
    "        read diff · write comments, github.label(labels) · continue",
    "        hook:github: · approve – · alone –",
  ]);
  expect(format(undefined)[2]).toBe(
    "        read diff · write comments, github.label(labels) · continue hook:github: · approve – · alone –",
  );
});
