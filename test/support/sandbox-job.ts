import type { Job } from "../../src/core/transforms/sandbox/job.ts";

/** A call of a module, before it has been handed out. */
export const JOB: Job = {
  operation: "call",
  bundle: {
    spec: {
      file: "/t/a.ts",
      root: "/t",
      timeoutMs: 100,
      memoryMb: 64,
      isolation: "request",
      secrets: {},
    },
    id: "a",
    code: "",
    sourceMap: "{}",
    inputs: [],
    manifests: [],
    bytes: 0,
    packages: [],
  },
  module: "a",
  text: "",
  body: Buffer.alloc(0),
  timeoutMs: 100,
  queuedAt: 0,
  crashes: 0,
  isLong: false,
  exclusive: false,
  isProbe: false,
  limitMs: 100,
  settle() {},
};
