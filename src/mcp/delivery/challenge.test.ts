import { expect, test } from "vitest";
import type { Message, PostResult, Sender } from "./callback.ts";
import { createChallenges } from "./challenge.ts";

const MINUTE_MS = 60_000;

/** A network in which every name leads to one machine. */
function startVictim(answer: (message: Message) => PostResult = () => ({ kind: "failed", reason: "http_4xx" })) {
  const sent: Message[] = [];
  const sender: Pick<Sender, "postOnce"> = {
    async postOnce(message, _allowHosts, onHost) {
      try {
        onHost([new URL(message.url).hostname, "203.0.113.7"]);
      } catch {
        return { kind: "failed", reason: "connection_refused" };
      }
      sent.push(message);
      return answer(message);
    },
  };
  let now = 0;
  const challenges = createChallenges(
    sender,
    async () => false,
    () => now,
  );
  return {
    sent,
    later: (ms: number) => void (now += ms),
    async ask(principal: string, url: string): Promise<unknown> {
      const asked = challenges.require(principal, { url, subscription: "sub_1", secrets: [] }, []);
      return asked.then(
        () => "verified",
        (error: unknown) => error,
      );
    },
  };
}

const echo = ({ body }: Message): PostResult => ({
  kind: "ok",
  text: JSON.stringify({ challenge: JSON.parse(body).challenge }),
});

test("a thousand subscribers send six requests a minute to one machine, under any names and paths", async () => {
  const { sent, ask, later } = startVictim();
  const askAll = (run: number) =>
    Promise.all(
      Array.from({ length: 1000 }, (_, index) =>
        ask(`principal-${index}`, `https://victim-${index % 50}.example/${run}/${index}`),
      ),
    );
  const results = await askAll(1);
  expect(sent).toHaveLength(6);
  expect(results.filter((error) => Object(error).code === -32013)).toHaveLength(994);
  later(MINUTE_MS - 1);
  await askAll(2);
  expect(sent).toHaveLength(6);
  later(2);
  await askAll(3);
  expect(sent).toHaveLength(12);
});

test("an address is asked once for each principal, and what it did not answer is remembered for ten minutes", async () => {
  const good = startVictim(echo);
  expect(await Promise.all([good.ask("a", "https://x.example/"), good.ask("a", "https://x.example/")])).toEqual([
    "verified",
    "verified",
  ]);
  expect(await good.ask("a", "https://x.example/")).toBe("verified");
  expect(good.sent).toHaveLength(1);
  expect(await good.ask("b", "https://x.example/")).toBe("verified");
  expect(good.sent).toHaveLength(2);

  const bad = startVictim(() => ({ kind: "ok", text: '{"challenge":"another"}' }));
  for (let tries = 0; tries < 3; tries += 1) {
    expect(await bad.ask("a", "https://x.example/")).toMatchObject({
      code: -32015,
      data: { reason: "challenge_failed" },
    });
  }
  expect(bad.sent).toHaveLength(1);
  bad.later(10 * MINUTE_MS + 1);
  await bad.ask("a", "https://x.example/");
  expect(bad.sent).toHaveLength(2);
});

test("the challenges of each principal are limited, whatever the others do", async () => {
  let host = 0;
  const sent: string[] = [];
  const sender: Pick<Sender, "postOnce"> = {
    async postOnce(message, _allowHosts, onHost) {
      try {
        onHost([`host-${(host += 1)}`]);
      } catch {
        return { kind: "failed", reason: "connection_refused" };
      }
      sent.push(message.url);
      return echo(message);
    },
  };
  const challenges = createChallenges(
    sender,
    async () => false,
    () => 0,
  );
  const ask = (principal: string, index: number) =>
    challenges
      .require(principal, { url: `https://${index}.example/`, subscription: "s", secrets: [] }, [])
      .catch(() => undefined);
  for (let index = 0; index < 40; index += 1) await ask("a", index);
  expect(sent).toHaveLength(30);
  for (let index = 0; index < 40; index += 1) await ask("b", index);
  expect(sent).toHaveLength(60);
});
