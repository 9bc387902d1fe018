import { expect, test } from "vitest";
import type { Runtime } from "../core/ports/runtime.ts";
import { createLifecycle, type ServicePart } from "./lifecycle.ts";

const RUNTIME = { generation: 1 } as Runtime;

test("parts start in order, each once, follow the runtime only once started, and stop in the reverse order", async () => {
  const calls: string[] = [];
  const toPart = (name: string, more: Partial<ServicePart> = {}): ServicePart => ({
    start: () => void calls.push(`start ${name}`),
    use: ({ generation }) => void calls.push(`use ${name} ${generation}`),
    stop: async () => void calls.push(`stop ${name}`),
    ...more,
  });
  const lifecycle = createLifecycle([toPart("a"), toPart("port", { needsPort: true }), toPart("b")]);
  const since = (): string[] => calls.splice(0);

  lifecycle.replaced(RUNTIME);
  expect(since()).toEqual([]);
  lifecycle.start(RUNTIME, { hasPort: false });
  expect(since()).toEqual(["start a", "use a 1", "start b", "use b 1"]);
  lifecycle.replaced({ ...RUNTIME, generation: 2 });
  expect(since()).toEqual(["use a 2", "use b 2"]);
  lifecycle.start(RUNTIME, { hasPort: true });
  expect(since()).toEqual(["start port", "use port 1"]);
  await lifecycle.stop();
  expect(since()).toEqual(["stop b", "stop port", "stop a"]);
});
