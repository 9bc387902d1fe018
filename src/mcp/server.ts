import { HookError } from "../core/errors.ts";
import { json, type RouteHandler } from "../core/ingress/router.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { createWakeUp } from "../core/shared/time.ts";
import type { HttpResponse } from "../core/types.ts";
import type { AuditList } from "../core/ports/audit.ts";
import { createSender } from "./delivery/callback.ts";
import { createCatalog } from "./catalog.ts";
import { createChallenges } from "./delivery/challenge.ts";
import { createEndpoint } from "./endpoint.ts";
import type { McpParts } from "./parts.ts";
import { createAuthenticate, type PrincipalSettings, toMetadata } from "./principals.ts";
import { createPublisher } from "./delivery/publisher.ts";
import { createRequests, type News } from "./requests.ts";
import { createSecretBox, loadKeyFile, type SecretBox } from "./delivery/secrets.ts";

/** The MCP endpoint and what it needs. */
export interface McpServer {
  serve: RouteHandler;
  /** Says which issuer's tokens are accepted. Throws a 404 without OAuth. */
  serveMetadata(): HttpResponse;
  /** Numbers and delivers publications, if this node executes. */
  start(): void;
  /** The configuration has changed. */
  wake(): void;
  /** Ends polls that wait, saves the progress of subscriptions, and stops. */
  stop(): Promise<void>;
}

/** Polls that are held at once. A further one is answered as if its time were over. */
const MAX_HELD = { principal: 16, all: 256 };

export async function openMcpServer(
  options: Omit<McpParts, "storeId" | "sender" | "secrets"> & { audit: AuditList; storePath: string },
): Promise<McpServer> {
  const { journal, current, log, audit, storePath } = options;
  const sender = createSender();
  const storeId = await journal.publications.storeId();
  const parts: McpParts = { ...options, storeId, sender, secrets: createSecrets(current, storePath) };
  const news = createNews();
  const publisher = createPublisher(parts);
  const unwatch = journal.watch((work) => work.has("publication") && news.tell());
  let unwatchPublisher = (): void => undefined;
  const serve = createEndpoint({
    settings: () => toSettings(current().config),
    authenticate: createAuthenticate(),
    requests: createRequests({
      ...parts,
      catalog: createCatalog(journal.publications, () => current().mappings.mappings),
      challenges: createChallenges(sender, journal.publications.hasCallback),
      news,
    }),
    audit,
    log,
  });
  return {
    serve,
    serveMetadata() {
      const metadata = toMetadata(toSettings(current().config));
      if (!metadata) throw new HookError("not_found", { message: "There is no such path." });
      return json(metadata);
    },
    start() {
      unwatchPublisher();
      unwatchPublisher = journal.watch((work) => work.has("publication") && publisher.wake());
      publisher.wake();
    },
    wake: publisher.wake,
    async stop() {
      unwatch();
      unwatchPublisher();
      news.close();
      await publisher.stop();
      sender.close();
    },
  };
}

function toSettings({ gateway }: Runtime["config"]): PrincipalSettings & { gateway: Runtime["config"]["gateway"] } {
  const { publicUrl, mcp = { principals: [], oauth: undefined, allowHosts: [], keys: [] } } = gateway;
  return { ...mcp, resource: publicUrl === undefined ? undefined : `${publicUrl}/mcp`, gateway };
}

/** The box of the keys in use: another one after they were rotated. */
function createSecrets(current: McpParts["current"], storePath: string): () => SecretBox {
  let made: { keys: readonly string[]; box: SecretBox } | undefined;
  let fromFile: readonly string[] | undefined;
  return () => {
    const written = current().config.gateway.mcp?.keys ?? [];
    const keys = written.length > 0 ? written : (fromFile ??= [loadKeyFile(storePath)]);
    if (made?.keys !== keys) made = { keys, box: createSecretBox(keys) };
    return made.box;
  };
}

function createNews(): News & { tell(): void; close(): void } {
  /** The principals of the polls that wait. */
  const waiting: string[] = [];
  const published = createWakeUp();
  const closing = new AbortController();
  let told = 0;
  return {
    tell() {
      told += 1;
      published.wake();
      published.reset();
    },
    close: () => closing.abort(),
    count: () => told,
    async wait(principal, { count, timeoutMs }) {
      if (count !== told) return true;
      const own = waiting.filter((other) => other === principal).length;
      if (own >= MAX_HELD.principal || waiting.length >= MAX_HELD.all) return false;
      waiting.push(principal);
      try {
        return await published.wait(timeoutMs, closing.signal);
      } finally {
        waiting.splice(waiting.indexOf(principal), 1);
      }
    },
  };
}
