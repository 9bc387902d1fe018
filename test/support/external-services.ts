import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";

/** A turn or a message as it arrived. */
export interface Arrival {
  /** The recipient of a message; empty for a turn. */
  to: string;
  /** The message, or the prompt of the turn. */
  text: string;
  /** The number of the service's process, counted up by each `countProcess`. */
  processNumber: number;
}

interface Posted {
  channel: string;
  text: string;
  metadata?: unknown;
}

/** Records the effects of the service on other services, at the moment they arrive. */
export interface ExternalServices {
  /** For an `openai-compatible` provider. */
  modelUrl: string;
  /** For `channels.slack.baseUrl`. */
  slackUrl: string;
  /** Oldest first. */
  turns: Arrival[];
  messages: Arrival[];
  /** The posts that HTTP targets took, each below `targetsUrl` by its name. */
  targetsUrl: string;
  posts: Arrival[];
  /** Announces a restart of the service: later effects come from the new process, whose number it gives. */
  countProcess(): number;
  /** Resolves when everything has arrived that processes have sent before they ended, and they have closed their connections. */
  allArrived(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A model, a Slack and HTTP targets in one server. Each answers after it has recorded the request and `hold()` has resolved, so that a
 * fault can happen between an effect and the service's record of it.
 */
export async function startExternalServices(options: {
  hold(): Promise<void>;
  reply?(asked: string): string;
  /** Whether this target refuses a request now, with a 503. */
  refuses?(target: string): boolean;
}): Promise<ExternalServices> {
  const { hold, reply = () => "Done.", refuses = () => false } = options;
  const turns: Arrival[] = [];
  const messages: Arrival[] = [];
  const posts: Arrival[] = [];
  let processNumber = 0;
  /** By channel, the newest first. */
  const posted = new Map<string, { ts: string; metadata: unknown }[]>();

  const server = createServer(async (request, response) => {
    const method = request.url?.split("/").at(-1);
    if (request.url?.startsWith("/targets/")) {
      const status = await takePost(request, decodeURIComponent(method ?? ""));
      await hold();
      response.writeHead(status).end();
      return;
    }
    const answer =
      method === "completions"
        ? await takeTurn(request)
        : method === "chat.postMessage"
          ? await takeMessage(request)
          : await showMessages(request);
    await hold();
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const countConnections = promisify(server.getConnections.bind(server));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The double has no port.");
  const url = `http://127.0.0.1:${address.port}`;
  return {
    modelUrl: `${url}/v1`,
    slackUrl: `${url}/api/`,
    turns,
    messages,
    targetsUrl: `${url}/targets/`,
    posts,
    countProcess: () => (processNumber += 1),
    async allArrived() {
      // A connection that waits to be accepted is counted one turn of the event loop later.
      do {
        await nextTurn();
        // A service of this process keeps some.
        server.closeIdleConnections();
      } while ((await countConnections()) > 0);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  /** https://platform.openai.com/docs/api-reference/chat */
  async function takeTurn(request: IncomingMessage): Promise<object> {
    const asked = String(JSON.parse(await text(request)).messages.at(-1)?.content);
    turns.push({ to: "", text: asked, processNumber });
    const message = { role: "assistant", content: reply(asked) };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return { id: "1", object: "chat.completion", created: 0, model: "double", choices };
  }

  /** https://docs.slack.dev/reference/methods/chat.postMessage */
  async function takeMessage(request: IncomingMessage): Promise<object> {
    const { channel: to, text: shown, metadata }: Posted = JSON.parse(await text(request));
    messages.push({ to, text: shown, processNumber });
    const ts = String(messages.length);
    posted.set(to, [{ ts, metadata }, ...(posted.get(to) ?? [])]);
    return { ok: true, channel: to, ts };
  }

  /** Gives the status of the answer. */
  async function takePost(request: IncomingMessage, to: string): Promise<number> {
    const { text: shown } = JSON.parse(await text(request));
    if (refuses(to)) return 503;
    posts.push({ to, text: String(shown), processNumber });
    return 200;
  }

  /** https://docs.slack.dev/reference/methods/conversations.history */
  async function showMessages(request: IncomingMessage): Promise<object> {
    const channel = new URLSearchParams(await text(request)).get("channel") ?? "";
    return { ok: true, messages: posted.get(channel)?.slice(0, 200) ?? [] };
  }
}
