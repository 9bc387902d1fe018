/**
 * `kill -9` between an event and its pull request: at the request that brings the event and at those to the service with the
 * repository, before and after they are handled, and at any moment. One commit an event, one pull request a session, and pushes to
 * `agent/*` only. Short here; `KILLS=1000 SEED=7 npx vitest run --config test/vitest.config.ts test/faults/changes.test.ts -t SQLite`
 * has as many as one likes, in sessions beside each other.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { isRequest } from "../../src/core/shared/words.ts";
import { makeOpenBox } from "../support/box.ts";
import { type Client, createClient, waitFor } from "../support/client.ts";
import { type Forge, FORGE_TOKEN, startForge } from "../support/forge.ts";
import { createPostgresUrl, endLease, findNewNode } from "../support/postgres.ts";
import { type ServiceProcess, startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";
import { createRandom } from "./campaign/random.ts";

const { KILLS, SEED = 1 } = process.env;

/** When a node is killed: so long after one of the requests since the last kill. */
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
const REQUESTS = 10;
const MAX_PAUSE_MS = 200;
/** In the long form: sessions beside each other, and the turns of each. */
const [AT_ONCE, TURNS] = KILLS === undefined ? [1, 1] : [2, 2];
/** A run that is interrupted more often in a row waits for seconds before its next attempt. */
const MAX_CUTS = 3;
/** In the long form, only the test's own limit ends a wait. */
const PATIENCE_MS = KILLS === undefined ? undefined : Infinity;

/** The first on one node, the second on two. */
function listKills(nodes: number): Kill[] {
  if (KILLS === undefined) return SHORT.slice(nodes - 1, nodes);
  const random = createRandom(Number(SEED));
  return Array.from({ length: Number(KILLS) }, () => ({
    request: 1 + Math.floor(random.next() * REQUESTS),
    side: random.next() < 0.5 ? "before" : "after",
    pauseMs: random.next() < 0.5 ? 0 : random.next() ** 2 * MAX_PAUSE_MS,
  }));
}

interface Node {
  /** In the database. */
  id: string;
  service: ServiceProcess;
  client: Client;
  /** The name by which it knows the service with the repository, which tells it apart there. */
  host: string;
}

/** The names of the service with the repository: each node has its own. */
const HOSTS = ["127.0.0.1", "localhost"];

test.each([
  ["SQLite", 1],
  ["two nodes of PostgreSQL", 2],
])(
  "%s: no change is lost, and none is published twice",
  { timeout: 600_000 + Number(KILLS ?? 1) * 10_000 },
  async (_, count) => {
    const folder = mkdtempSync(path.join(tmpdir(), "hookline-changes-"));
    const box = makeOpenBox();
    const forge = await startForge("github");
    const database = count > 1 ? await createPostgresUrl() : undefined;
    const nodes: Promise<Node>[] = [];
    const live: Node[] = [];
    /** The ids of all nodes so far. */
    const known: string[] = [];
    const start = async (index: number): Promise<Node> => {
      const file = path.join(folder, `webhooks-${index}.json5`);
      const store = { path: path.join(folder, `state-${index}`), ...(database !== undefined && { url: database }) };
      const host = HOSTS[index]!;
      const baseUrl = forge.url.replace(HOSTS[0]!, host);
      writeFileSync(
        file,
        JSON.stringify(withTokens({ ...CONFIG, store, channels: { github: { token: FORGE_TOKEN, baseUrl } } })),
      );
      const service = await startProcess(file, { PATH: `${box}:${process.env["PATH"]}` });
      const id = database === undefined ? "" : await findNewNode(database, known);
      known.push(id);
      const client = createClient(service.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
      return (live[index] = { id, service, client, host });
    };
    const replace = async (index: number, { id }: Node): Promise<Node> => {
      if (database !== undefined) await endLease(database, id);
      return start(index);
    };
    /** Asks one node after the other until one answers. */
    const ask = <Answer>(question: (node: Node) => Promise<Answer | undefined>): Promise<Answer> => {
      let asked = 0;
      return waitFor(
        async () => {
          const node = await nodes[(asked += 1) % count]!;
          return question(node).catch(() => undefined);
        },
        "a node that answers",
        PATIENCE_MS,
      );
    };
    let [killed, sessions, events, cut] = [0, 0, 0, 0];
    /** How often each event that is not done was cut off, by its name. */
    const waiting = new Map<string, number>();
    const runSession = async (number: number): Promise<void> => {
      for (let turn = 1; turn <= TURNS; turn++) {
        const name = `${number}/${turn}`;
        const headers = { "x-github-event": "issues", "x-github-delivery": name };
        waiting.set(name, 0);
        // Sent again, it is the same event.
        const id: string = await ask(async ({ client, host }) => {
          forge.listener?.("POST /hooks/github", "before", host);
          const { body } = await client.post("github", issue(number, turn), headers);
          forge.listener?.("POST /hooks/github", "after", host);
          return body.eventId;
        });
        const event = await ask(async ({ client }) => {
          const found = await client.api(`/api/events/${id}`);
          return isRequest(found.status, "unfinished") ? undefined : found;
        });
        waiting.delete(name);
        events += 1;
        expect(event.runs, `event ${name}`).toMatchObject([
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
    };
    const kills = listKills(count);
    const kill = async (): Promise<void> => {
      for (const one of kills) {
        await waitFor(() => [...waiting.values()].every((cuts) => cuts < MAX_CUTS), "events to be done", PATIENCE_MS);
        await atMoment(one, forge, (index) => {
          const node = live[index]!;
          const ended = once(node.service.child, "exit");
          node.service.child.kill("SIGKILL");
          nodes[index] = ended.then(() => replace(index, node));
        });
        killed += 1;
        cut += waiting.size;
        for (const [name, cuts] of waiting) waiting.set(name, cuts + 1);
        await Promise.all(nodes);
        if (killed % 50 === 0) console.log(`${killed} kills, ${events} events`);
      }
    };
    try {
      forge.commit({ "README.md": "hello\n" });
      for (let index = 0; index < count; index++) {
        nodes.push(start(index));
        await nodes[index];
      }
      const runSessions = async (): Promise<void> => {
        do await runSession((sessions += 1));
        while (killed < kills.length);
      };
      await Promise.all([kill(), ...Array.from({ length: AT_ONCE }, runSessions)]);
      expect(forge.pulls).toHaveLength(sessions);
      expect(Object.keys(forge.branches())).toHaveLength(sessions + 1);
      expect(forge.pushed.filter((ref) => !ref.startsWith("refs/heads/agent/"))).toEqual([]);
      if (KILLS !== undefined)
        console.log(
          `${killed} kills cut off ${events} events ${cut} times, ${sessions} sessions, ${forge.pulls.length} pull requests: none twice, none lost.`,
        );
    } finally {
      forge.listener = undefined;
      await Promise.allSettled(nodes);
      for (const { service } of live) await service.end("SIGKILL");
      await forge.close();
      for (const one of [folder, box]) rmSync(one, { recursive: true, force: true });
    }
  },
);

/** Calls `kill` with the index of the node that has made the request of a kill, before that gets an answer or later. */
function atMoment(
  { request: wanted, side: when, pauseMs }: Kill,
  forge: Forge,
  kill: (index: number) => void,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let seen = 0;
  forge.listener = (request, side, host) => {
    if (side === "before") seen += 1;
    const isIt = typeof wanted === "number" ? seen >= wanted : wanted.test(request);
    if (!isIt || side !== when) return;
    forge.listener = undefined;
    const act = (): void => {
      kill(HOSTS.indexOf(host));
      resolve();
    };
    if (pauseMs === 0) act();
    else setTimeout(act, pauseMs);
  };
  return promise;
}

/** Each turn adds a line. */
const AGENT = "cat > /dev/null; echo done >> work.txt; echo Done";

const CONFIG: UserConfig = {
  agents: {
    providers: { coder: { kind: "command", command: ["/bin/sh", "-c", AGENT], sandbox: true } },
    defaults: { model: "coder/default", maxAttempts: 100 },
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
