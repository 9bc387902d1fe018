import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

let service: Service;
afterEach(() => service.close());

async function scrape(): Promise<{ type: string | null; value(sample: string): number | undefined; text: string }> {
  const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${GATEWAY_TOKEN}` } });
  const text = await response.text();
  const lines = text.split("\n").map((line) => line.split(/ (?=\S+$)/));
  return {
    type: response.headers.get("content-type"),
    text,
    value(sample) {
      const [, value] = lines.find(([name]) => name === sample) ?? [];
      return value === undefined ? undefined : Number(value);
    },
  };
}

test("metrics count requests, events, turns, refusals and reloads, and show the state", async () => {
  const mapping = { id: "orders", match: { path: "orders" }, messageTemplate: "{{id}}", deliver: false };
  service = await startService({ config: { hooks: { mappings: [mapping] } } });
  const { body } = await service.post("orders", { id: "1" });
  await service.settled(body.eventId);
  await service.post("orders", {});
  await service.post("nothing", {});
  await fetch(`${service.url}/hooks/wake`, { method: "POST", headers: { authorization: "Bearer wrong" } });
  await service.reload({ hooks: { mappings: [mapping] } });

  const { type, value, text } = await scrape();
  expect(type).toMatch(/^text\/plain/);
  expect(value('hookline_requests_total{hook="orders",status="202"}')).toBe(1);
  expect(value('hookline_requests_total{hook="orders",status="400"}')).toBe(1);
  // A name that a sender has chosen is no label.
  expect(value('hookline_requests_total{hook="other",status="404"}')).toBe(1);
  expect(text).not.toContain("nothing");
  expect(value('hookline_requests_total{hook="wake",status="401"}')).toBe(1);
  expect(value('hookline_events_total{mapping="orders",status="accepted"}')).toBe(1);
  expect(value('hookline_events_total{mapping="orders",status="refused"}')).toBe(1);
  expect(value('hookline_runs_total{result="done"}')).toBeGreaterThanOrEqual(1);
  expect(value('hookline_rejections_total{reason="wrong"}')).toBe(1);
  expect(value('hookline_reloads_total{result="ok"}')).toBe(1);
  for (const step of ["request", "mapping", "commit", "turn"]) {
    expect(value(`hookline_step_seconds_count{step="${step}"}`)).toBeGreaterThan(0);
  }
  expect(value("hookline_config_generation")).toBe(2);
  expect(value("hookline_config_stale")).toBe(0);
  expect(value("hookline_pending_runs")).toBe(0);
  expect(value("process_cpu_seconds_total")).toBeGreaterThan(0);
  // No mailbox is watched: a figure without one would be a mailbox that is down.
  expect(text).not.toMatch(/^hookline_mailbox_up/m);
});

test.each(["alerts.yaml", "grafana.json"])("docs/monitoring/%s uses metrics that exist", async (name) => {
  service = await startService();
  const { text } = await scrape();
  const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, metric]) => metric));
  const used = readFileSync(path.join(import.meta.dirname, "../docs/monitoring", name), "utf8").matchAll(
    /\b(?:hookline|process|nodejs)_\w+/g,
  );
  const metrics = new Set([...used].map(([metric]) => metric.replace(/_bucket$/, "")));
  expect(metrics.size).toBeGreaterThan(5);
  expect([...metrics].filter((metric) => !known.has(metric))).toEqual([]);
});

test("metrics need the gateway token", async () => {
  service = await startService();
  for (const token of ["", HOOK_TOKEN]) {
    const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(response.status).toBe(401);
  }
});

test("the activity counts requests by state and in steps, also those of before a restart", async () => {
  service = await startService();
  const { body } = await service.post("agent", { message: "m", deliver: false, wakeMode: "next-heartbeat" });
  await service.settled(body.eventId);
  await service.post("agent", {});
  await service.post("agent", {}, { authorization: "Bearer wrong" });
  service = await service.restart();
  const { period, received, events, runs, steps } = await service.api("/api/activity");
  expect(runs).toEqual({ held: 0, waiting: 0, running: 0, failed: 0 });
  expect(events).toEqual({ unfinished: 0, done: 1, skipped: 0, refused: 2, failed: 0, canceled: 0 });
  expect({ period, received }).toEqual({ period: "24h", received: 3 });
  const sum = (name: string) => steps.reduce((total: number, step: Record<string, number>) => total + step[name]!, 0);
  expect(["requests", "clientErrors", "serverErrors", "refused", "turns"].map(sum)).toEqual([3, 2, 0, 1, 1]);
  expect((await service.api("/api/activity?period=1h")).received).toBe(3);
});

test("the mappings are listed in order, with the sender's address and what they did", async () => {
  service = await startService({
    config: {
      gateway: { auth: { token: GATEWAY_TOKEN }, publicUrl: "https://hooks.example.org/" },
      hooks: {
        mappings: [
          { id: "first", match: { path: "a/b" }, messageTemplate: "{{id}}" },
          { id: "never", match: { path: "a/b", source: "x" }, action: "wake", textTemplate: "x" },
          { id: "any", match: { source: "shop" }, messageTemplate: "x" },
        ],
        presets: [{ use: "github", with: { secret: "secret-of-a-sender" } }],
      },
    },
  });
  const { body: first } = await service.post("a/b", { id: 1 });
  await service.settled(first.eventId);
  await service.post("a/b", {});
  await fetch(`${service.url}/hooks/github`, {
    method: "POST",
    headers: { "x-hub-signature-256": "sha256=00" },
    body: "{}",
  });
  const { mappings } = await service.api("/api/mappings");
  expect(mappings.slice(0, 3)).toMatchObject([
    {
      id: "first",
      url: "https://hooks.example.org/hooks/a/b",
      shadowed: false,
      action: "agent",
      events: { done: 1, refused: 1 },
      errorRate: 0.5,
      lastAt: expect.any(String),
      lastFailureAt: expect.any(String),
    },
    { id: "never", shadowed: true, action: "wake", events: {}, errorRate: 0 },
    { id: "any", shadowed: false },
  ]);
  const refused = { count: 1, reason: expect.any(String), lastAt: expect.any(String) };
  expect(mappings.at(-1)).toMatchObject({ preset: "github", auth: "github", refused });
  expect(mappings[2].url).toBeUndefined();
  expect(JSON.stringify(mappings)).not.toContain("secret-of-a-sender");
});
