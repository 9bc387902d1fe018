/** The files of docs/monitoring in Debian's Prometheus, which scrapes the real service. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run } from "../support/cli.ts";
import { GATEWAY_TOKEN, type Service, startService } from "../support/service.ts";
import { type SlackServer, startSlack } from "../support/vendors/slack.ts";
import { findFreePort } from "./find-free-port.ts";

const FILES = path.join(import.meta.dirname, "../../docs/monitoring");
const RULES = path.join(FILES, "alerts.yaml");

let folder: string;
let slack: SlackServer;
let service: Service;
let prometheus: ChildProcess;
let api: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-prometheus-"));
  slack = await startSlack();
  service = await startService({
    config: {
      agents: {
        providers: {
          cat: { kind: "command", sandbox: false, command: ["cat"] },
          broken: { kind: "command", sandbox: false, command: ["false"] },
        },
        defaults: { maxAttempts: 1, model: "broken/x" },
      },
      channels: { slack: { token: slack.token, baseUrl: slack.baseUrl } },
    },
  });
  await post("works", "cat/x");
  await service.post("wake", {}, { authorization: "Bearer wrong" });
  writeFileSync(path.join(folder, "token"), GATEWAY_TOKEN);
  writeFileSync(
    path.join(folder, "prometheus.yaml"),
    JSON.stringify({
      global: { scrape_interval: "500ms", evaluation_interval: "500ms" },
      rule_files: [RULES],
      scrape_configs: [
        {
          job_name: "hookline",
          authorization: { credentials_file: "token" },
          static_configs: [{ targets: [new URL(service.url).host] }],
        },
      ],
    }),
  );
  const address = `127.0.0.1:${await findFreePort()}`;
  api = `http://${address}/api/v1`;
  const args = [
    "--config.file=prometheus.yaml",
    "--storage.tsdb.path=data",
    `--web.listen-address=${address}`,
    "--log.level=error",
  ];
  prometheus = spawn("/usr/bin/prometheus", args, { cwd: folder, stdio: "inherit" });
});
afterAll(async () => {
  if (prometheus.exitCode === null) {
    prometheus.kill();
    await once(prometheus, "exit");
  }
  await service.close();
  await slack.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a turn, and waits for its end. */
async function post(message: string, model: string): Promise<void> {
  const { body } = await service.post("agent", { message, model, channel: "slack", to: slack.channel });
  await service.settled(body.eventId);
}

async function ask<Data>(question: string): Promise<Data | undefined> {
  const response = await fetch(`${api}/${question}`).catch(() => undefined);
  const answer: { data?: Data; error?: string } = response ? ((await response.json()) as object) : {};
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer.data;
}

test("promtool accepts the rules and the metrics", async () => {
  expect(await run(folder, "promtool", ["check", "rules", RULES])).toMatchObject({ code: 0, stderr: "" });
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  writeFileSync(path.join(folder, "metrics"), await (await fetch(`${service.url}/metrics`, { headers })).text());
  const checked = await run(folder, "sh", ["-c", "promtool check metrics < metrics"]);
  expect(checked).toMatchObject({ code: 0, stdout: "", stderr: "" });
});

test("every panel of the dashboard shows figures", async () => {
  const { panels } = JSON.parse(readFileSync(path.join(FILES, "grafana.json"), "utf8"));
  const expressions: string[] = panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
    targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "30s")),
  );
  expect(expressions.length).toBeGreaterThan(15);
  // No mailbox is watched here, and no model counts tokens.
  const isEmpty = (expression: string) => /mailbox|tokens/.test(expression);
  for (const expression of expressions) {
    const count = async () =>
      (await ask<{ result: [] }>(`query?query=${encodeURIComponent(expression)}`))?.result.length;
    if (isEmpty(expression)) expect([expression, await count()]).toEqual([expression, 0]);
    else await expect.poll(count, { message: expression }).toBeGreaterThan(0);
  }
});

test("the first dead letter raises the alert, and all rules can be evaluated", async () => {
  const firing = async (): Promise<string[]> => {
    const { alerts = [] } = (await ask<{ alerts: { state: string; labels: { alertname: string } }[] }>("alerts")) ?? {};
    return alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname);
  };
  await expect.poll(async () => (await ask<{ alerts: [] }>("alerts"))?.alerts).toEqual([]);
  await post("fails", "broken/x");
  await expect.poll(firing).toContain("HooklineDeadLetters");
  const health = async () => {
    const found = await ask<{ groups: { rules: { name: string; health: string }[] }[] }>("rules");
    return (found?.groups ?? []).flatMap(({ rules }) => rules.filter((rule) => rule.health !== "ok"));
  };
  await expect.poll(health).toEqual([]);
});
