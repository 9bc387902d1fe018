import type { UserConfig } from "./generated.ts";

/** What holds where the configuration says nothing. The schema's `default`s tell editors the same. */
export const DEFAULTS = {
  gateway: { host: "127.0.0.1", port: 18_790, trustedProxies: [] },
  hooks: {
    enabled: false,
    path: "/hooks",
    maxBodyBytes: 262_144,
    bodyTimeoutSeconds: 30,
    maxFanOut: 1000,
    maxPending: 1_000_000,
    dedupeWindow: "24h",
    redact: [],
    presets: [],
    transformsDir: "./transforms",
    mappings: [],
    mail: {
      autoStart: true,
      batchSize: 20,
      maxBytes: 20_000,
      filter: { own: false, spam: false, trash: false, drafts: false },
    },
    allowRequestSessionKey: true,
    allowedSessionKeyPrefixes: [],
  },
  agents: {
    providers: {},
    defaults: {
      timeoutSeconds: 600,
      maxConcurrent: 4,
      maxAttempts: 3,
      heartbeat: { every: "30m", ack: "HEARTBEAT_OK" },
    },
  },
  session: { maxTurns: 32, maxTokens: 25_000, idleAfter: "7d" },
  store: { path: "./.webhooks", retention: { maxAge: "30d", maxKeys: 1_000_000 } },
  log: { level: "info" },
} satisfies UserConfig;
