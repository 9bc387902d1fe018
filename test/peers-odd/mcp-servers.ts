import type { OddPeer } from "./odd-peer.ts";

/** MCP servers. */
export const MCP_SERVERS: OddPeer[] = [];
