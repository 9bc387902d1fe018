/**
 * `kill -9` between an event and its pull request: at requests to the service with the repository, before and after they are handled,
 * and at any moment. One commit an event, one pull request a session, and pushes to `agent/*` only. Short here;
 * `KILLS=1000 SEED=7 npx vitest run --config test/vitest.config.ts test/faults/changes.test.ts -t SQLite` is as long as one likes.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { makeOpenBox } from "../support/box.ts";
import { type Client, createClient } from "../support/client.ts";
import { type Forge, FORGE_TOKEN, startForge } from "../support/forge.ts";
import { createPostgresUrl, endLease, findNewNode } from "../support/postgres.ts";
import { type ServiceProcess, startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";
import { createRandom } from "./campaign/random.ts";

const { KILLS, SEED = 1 } = process.env;

/** When a node is killed: so long after one of the requests of a turn. */
interface Kill {
  /** Its number, or what it is. */
  request: number | RegExp;
  side: "before" | "after";
  pauseMs: number;
}

/** The pull request is there, and nobody knows it; then so is the push. */
const SHORT: Kill[] = [
  { request: /^POST \/repos\/acme\/app\/pulls$/, side: "after", pauseMs: 0 },
  { request: /^POST .*\/git-receive-pack$/, side: "after", pauseMs: 0 },
];
/** About as many as a turn has, and longer than between two of them. */
const REQUESTS = 16;
const MAX_PAUSE_MS = 200;

/** The first on one node, the second on two. */
function listKills(nodes: number): Kill[] {
  if (KILLS === undefined) return SHORT.slice(nodes - 1, nodes);
  const random = createRandom(Number(SEED));
  return Array.from({ length: Number(KILLS) }, () => ({
    request: 1 + Math.floor(random.next() * REQUESTS),
    side: random.next() < 0.5 ? "before" : "after",
    pauseMs: random.next() < 0.5 ? 0 : random.next() * MAX_PAUSE_MS,
  }));
}

interface Node {
  /** In the database. */
  id: string;
  service: ServiceProcess;
  client: Client;
}

/** The name by which each node knows the service with the repository, which tells them apart there. */
const HOSTS = ["127.0.0.1", "localhost"];

test.each([
  ["SQLite", 1],
  ["two nodes of PostgreSQL", 2],
])(
  "%s: no change is lost, and none is published twice",
  { timeout: 600_000 + Number(KILLS ?? 1) * 60_000 },
  async (_, count) => {
    const folder = mkdtempSync(path.join(tmpdir(), "hookline-changes-"));
    const box = makeOpenBox();
    const forge = await startForge("github");
    const database = count > 1 ? await createPostgresUrl() : undefined;
    const nodes: Node[] = [];
    const start = async (index: number): Promise<Node> => {
      const file = path.join(folder, `webhooks-${index}.json5`);
      const store = { path: path.join(folder, `state-${index}`), ...(database !== undefined && { url: database }) };
      const baseUrl = forge.url.replace(HOSTS[0]!, HOSTS[index]!);
      writeFileSync(
        file,
        JSON.stringify(withTokens({ ...CONFIG, store, channels: { github: { token: FORGE_TOKEN, baseUrl } } })),
      );
      const service = await startProcess(file, { PATH: `${box}:${process.env["PATH"]}` });
      const known = nodes.map(({ id }) => id);
      const id = database === undefined ? "" : await findNewNode(database, known);
      return { id, service, client: createClient(service.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN }) };
    };
    const replace = async (index: number): Promise<void> => {
      if (database !== undefined) await endLease(database, nodes[index]!.id);
      nodes[index] = await start(index);
    };
    try {
      forge.commit({ "README.md": "hello\n" });
      for (let index = 0; index < count; index++) nodes.push(await start(index));
      const kills = listKills(count);
      let killed = 0;
      for (const [at, kill] of kills.entries()) {
        // Each second event continues the session of the one before it.
        const turn = 1 + (at % 2);
        const number = 1 + Math.floor(at / 2);
        const lost = armKill(kill, forge, nodes);
        const { client } = nodes[at % count]!;
        const { body } = await client.post("github", issue(number, turn), {
          "x-github-event": "issues",
          "x-github-delivery": String(at),
        });
        await Promise.race([lost.ended, client.settled(body.eventId).catch(() => lost.ended)]);
        const index = await lost.disarm();
        if (index !== undefined) {
          killed += 1;
          await replace(index);
        }
        const event = await nodes[0]!.client.settled(body.eventId);
        expect(event.runs, `${at}: ${JSON.stringify(kill)}`).toMatchObject([
          { state: "done", reply: expect.stringMatching(/^Done\n\nhttp/) },
        ]);
        const call = event.runs[0].steps.find(({ kind }: { kind: string }) => kind === "call");
        const { branch, commit } = call.arguments;
        expect(forge.branches()[branch]).toBe(commit);
        expect(forge.git("rev-list", "--count", `main..${branch}`)).toBe(String(turn));
        // Nothing of an attempt that was killed is in it.
        expect(forge.git("show", `${branch}:work.txt`)).toBe(["done", "done"].slice(0, turn).join("\n"));
        expect(forge.pulls.filter(({ head }) => head === `acme/app:${branch}`)).toHaveLength(1);
      }
      const sessions = Math.ceil(kills.length / 2);
      expect(forge.pulls).toHaveLength(sessions);
      expect(Object.keys(forge.branches())).toHaveLength(sessions + 1);
      expect(forge.pushed.filter((ref) => !ref.startsWith("refs/heads/agent/"))).toEqual([]);
      if (KILLS === undefined) expect(killed).toBe(kills.length);
      else
        console.log(
          `${kills.length} events, ${killed} kills, ${forge.pulls.length} pull requests: none twice, none lost.`,
        );
    } finally {
      forge.listener = undefined;
      for (const { service } of nodes) await service.end("SIGKILL");
      await forge.close();
      for (const one of [folder, box]) rmSync(one, { recursive: true, force: true });
    }
  },
);

/** The node that makes the request is killed. `disarm` resolves to its index; undefined: it came to no kill. */
function armKill(
  { request: wanted, side: when, pauseMs }: Kill,
  forge: Forge,
  nodes: Node[],
): { ended: Promise<void>; disarm(): Promise<number | undefined> } {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let seen = 0;
  let timer: NodeJS.Timeout | undefined;
  let index: number | undefined;
  forge.listener = (request, side, host) => {
    if (side === "before") seen += 1;
    const isIt = typeof wanted === "number" ? seen === wanted : wanted.test(request);
    if (timer !== undefined || index !== undefined || !isIt || side !== when) return;
    const kill = (): void => {
      index = HOSTS.indexOf(host);
      nodes[index]!.service.child.once("exit", () => resolve()).kill("SIGKILL");
    };
    if (pauseMs === 0) kill();
    else timer = setTimeout(kill, pauseMs);
  };
  return {
    ended,
    async disarm() {
      forge.listener = undefined;
      clearTimeout(timer);
      if (index !== undefined) await ended;
      return index;
    },
  };
}

/** Each turn adds a line. */
const AGENT = "cat > /dev/null; echo done >> work.txt; echo Done";

const CONFIG: UserConfig = {
  agents: {
    providers: { coder: { kind: "command", command: ["/bin/sh", "-c", AGENT], sandbox: true } },
    defaults: { model: "coder/default", maxAttempts: 50 },
  },
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
};

function issue(number: number, turn: number): object {
  const user = { login: "ann", id: 1, type: "User" };
  return {
    action: turn === 1 ? "opened" : "reopened",
    repository: { id: 7, full_name: "acme/app", private: true, html_url: "https://forge.test/acme/app" },
    issue: { id: number, number, title: "It fails", body: "Please.", user },
    sender: user,
  };
}
