import { type FaultProxy, startFaultProxy } from "../../src/contracts/fault-proxy.ts";

/** A server behind a proxy that can make its requests fail. */
export interface FaultServer {
  url: string;
  inject: FaultProxy["inject"];
  requestCount(): number;
  /** Closes the proxy and the server. */
  close(): Promise<void>;
}

/** Starts a fault proxy in front of a server; `baseUrl` may belong to another server. */
export async function openFaultServer(server: { close(): Promise<void> }, baseUrl: string): Promise<FaultServer> {
  const proxy = await startFaultProxy(baseUrl);
  return {
    url: proxy.url,
    inject: proxy.inject,
    requestCount: () => proxy.requests.length,
    async close() {
      await proxy.close();
      await server.close();
    },
  };
}
