/**
 * `kill -9` between an event and its pull request: at each request to the service with the repository, before and after it is
 * handled. One commit and one pull request an event, and pushes to `agent/*` only. Short here;
 * `KILLS=1000 SEED=7 npx vitest run --config test/vitest.config.ts test/faults/changes.test.ts` is as long as one likes.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { makeOpenBox } from "../support/box.ts";
import { createClient, waitFor } from "../support/client.ts";
import { FORGE_TOKEN, startForge } from "../support/forge.ts";
import { type ServiceProcess, startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";

const { KILLS, SEED = 1 } = process.env;
/** Requests of a turn: the first are reads and fetches, the last the push and the pull request. */
const SHORT = [
  { request: 9, side: "after" },
  { request: 11, side: "after" },
] as const;
const REQUESTS = 13;

interface Kill {
  request: number;
  side: "before" | "after";
}

function listKills(): readonly Kill[] {
  if (KILLS === undefined) return SHORT;
  let state = Number(SEED);
  const next = (below: number): number => (state = (state * 48_271) % 2_147_483_647) % below;
  return Array.from({ length: Number(KILLS) }, () => ({
    request: 1 + next(REQUESTS),
    side: next(2) === 0 ? "before" : "after",
  }));
}

test("no change is lost, and none is published twice", { timeout: 600_000 + listKills().length * 60_000 }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-changes-"));
  const box = makeOpenBox();
  const forge = await startForge("github");
  let service: ServiceProcess | undefined;
  try {
    forge.commit({ "README.md": "hello\n" });
    const config: UserConfig = {
      agents: {
        providers: {
          coder: {
            kind: "command",
            command: ["/bin/sh", "-c", "cat > /dev/null; echo done > work.txt; echo Done"],
            sandbox: true,
          },
        },
        defaults: { model: "coder/default", maxAttempts: 50 },
      },
      channels: { github: { token: FORGE_TOKEN, baseUrl: forge.url } },
      hooks: {
        presets: [
          {
            use: "github",
            with: {
              place: "acme/app",
              workspace: true,
              grants: { "github.change": "allow" },
              deliver: false,
              wakeMode: "next-heartbeat",
            },
          },
        ],
      },
      store: { path: path.join(folder, "state") },
    };
    const file = path.join(folder, "webhooks.json5");
    writeFileSync(file, JSON.stringify(withTokens(config)));
    const env = { PATH: `${box}:${process.env["PATH"]}` };
    service = await startProcess(file, env);
    let number = 0;
    for (const kill of listKills()) {
      number += 1;
      let seen = 0;
      const running = service;
      const ended = new Promise<void>((resolve) => void running.child.once("exit", () => resolve()));
      let isKilled = false;
      forge.listener = (_, side) => {
        if (side === "before") seen += 1;
        if (isKilled || seen !== kill.request || side !== kill.side) return;
        isKilled = true;
        running.child.kill("SIGKILL");
      };
      const client = createClient(running.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
      const { body } = await client.post("github", issue(number), {
        "x-github-event": "issues",
        "x-github-delivery": String(number),
      });
      const isDone = await Promise.race([
        ended.then(() => false),
        client.settled(body.eventId).then(
          () => true,
          () => ended.then(() => false),
        ),
      ]);
      forge.listener = undefined;
      if (!isDone) service = await startProcess(file, env);
      const after = createClient(service.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
      const event = await after.settled(body.eventId);
      expect(event.runs, `kill ${JSON.stringify(kill)}`).toMatchObject([
        { state: "done", reply: expect.stringMatching(/^Done\n\nhttp/) },
      ]);
      const [{ branch, commit }] = event.runs[0].steps.flatMap((step: { kind: string; arguments: object }) =>
        step.kind === "call" ? [step.arguments] : [],
      );
      expect(forge.branches()[branch]).toBe(commit);
      expect(forge.git("rev-list", "--count", `main..${branch}`)).toBe("1");
      expect(forge.pulls.filter(({ head }) => head === `acme/app:${branch}`)).toHaveLength(1);
    }
    await waitFor(() => forge.pulls.length === number, "all pull requests");
    expect(Object.keys(forge.branches())).toHaveLength(number + 1);
    expect(forge.pushed.filter((ref) => !ref.startsWith("refs/heads/agent/"))).toEqual([]);
  } finally {
    await service?.end("SIGKILL");
    await forge.close();
    for (const one of [folder, box]) rmSync(one, { recursive: true, force: true });
  }
});

function issue(number: number): object {
  const user = { login: "ann", id: 1, type: "User" };
  return {
    action: "opened",
    repository: { id: 7, full_name: "acme/app", private: true, html_url: "https://forge.test/acme/app" },
    issue: { id: number, number, title: "It fails", body: "Please.", user },
    sender: user,
  };
}
