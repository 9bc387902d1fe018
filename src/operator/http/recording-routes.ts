import { HookError } from "../../core/errors.ts";
import { matchHook } from "../../core/ingress/router.ts";
import { readOwn } from "../../core/shared/json.ts";
import { toView } from "../iso-times.ts";
import { toRecordingTimeline } from "../views.ts";
import { answering, changing, requireFound, type RoutesOf } from "./route.ts";
import type { RouteServices } from "./services.ts";

type RecordingPath = `/api/recordings${string}`;

const MAX_HOOK = 200;

/** Recordings of requests to hooks that no mapping takes. */
export function createRecordingRoutes(parts: RouteServices): RoutesOf<RecordingPath> {
  const { recordings, findParser } = parts;
  return {
    "POST /api/recordings": answering({
      about:
        "Keeps what a hook that no mapping takes is sent: up to 20 requests in 10 minutes, of 256 KB each. They are answered as before, and nothing is dispatched.",
      body: {
        type: "object",
        required: ["path"],
        properties: { path: { type: "string", description: "The hook's name, or its whole path." } },
      },
      example: { path: "new-sender" },
      async answer({ readJson }) {
        const hook = requireUnknownHook(readOwn((await readJson()) ?? {}, "path"), parts);
        return toView(await recordings.start(hook));
      },
    }),
    "GET /api/recordings": answering({
      about: "Recordings of the last 24 hours, newest first.",
      answer: async () => ({ recordings: (await recordings.list()).map(toView) }),
    }),
    "GET /api/recordings/:id": answering({
      about: "One recording with its requests, oldest first. Secret headers are redacted.",
      async answer({ params: { id = "" } }) {
        const { recording, requests } = requireFound(await recordings.find(id), "recording");
        return toRecordingTimeline(recording, requests, findParser);
      },
    }),
    "DELETE /api/recordings/:id": changing("recording", "Ends a recording, and forgets its requests.", (id) =>
      recordings.remove(id),
    ),
  };
}

/** `/hooks/new-sender` is the hook `new-sender`. Throws a 400 for what cannot be recorded. */
function requireUnknownHook(given: unknown, { config, takes }: RouteServices): string {
  const text = typeof given === "string" ? given.trim() : "";
  const prefix = config().hooks.path;
  const hook = matchHook(text.startsWith(`${prefix}/`) ? text : `${prefix}/${text.replace(/^\//, "")}`, prefix)?.hook;
  if (!hook || hook.length > MAX_HOOK) {
    const message = `path must be the name of a hook: what follows ${prefix}/ in its address.`;
    throw new HookError("invalid_payload", { message });
  }
  if (takes(hook)) {
    const message = "This hook is known: its requests are among the events. Only an unknown hook can be recorded.";
    throw new HookError("invalid_payload", { message });
  }
  return hook;
}
