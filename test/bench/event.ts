import type { NewEvent } from "../../src/core/journal/journal.ts";

export const BODY = Buffer.from(JSON.stringify({ action: "opened", text: "x".repeat(1000) }));

/** The event with this number: one agent action, as a template mapping creates it from a kilobyte of JSON. */
export function toEvent(index: number): NewEvent {
  const number = index.toString(16).padStart(12, "0");
  const id = `01997b1c-0000-7000-8000-${number}`;
  return {
    id,
    hook: "github",
    mapping: "pull-requests",
    status: "accepted",
    receivedAt: 1_760_000_000_000 + index,
    request: {
      method: "POST",
      path: "/hooks/github",
      query: {},
      headers: {
        host: "127.0.0.1:18790",
        "user-agent": "GitHub-Hookshot/1234567",
        accept: "*/*",
        "content-type": "application/json",
        "content-length": String(BODY.length),
        "x-github-event": "pull_request",
        "x-github-delivery": id,
      },
      contentType: "application/json",
      body: BODY,
      client: "127.0.0.1",
    },
    actions: [
      {
        runId: `01997b1c-0000-7000-9000-${number}`,
        action: {
          kind: "agent",
          message: "Pull request opened: ".padEnd(300, "text "),
          name: "github",
          sessionKey: `hook:01997b1c-0000-7000-a000-${number}`,
          wakeMode: "now",
          deliver: true,
          channel: "last",
          timeoutSeconds: 600,
          allowUnsafeExternalContent: false,
        },
      },
    ],
    warnings: [],
    log: [],
  };
}
