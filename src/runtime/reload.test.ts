import { expect, test, vi } from "vitest";
import { silentTelemetry } from "../telemetry/telemetry.ts";
import type { Runtime } from "./build.ts";
import { createReloader } from "./reload.ts";

test("close does not wait for a build, and a runtime that is complete later is not used", async () => {
  const building = Promise.withResolvers<Runtime>();
  const replaced = vi.fn();
  const first = toRuntime(1);
  const reloader = createReloader({
    current: () => first,
    build: () => building.promise,
    watch: false,
    replaced,
    refused() {},
    telemetry: silentTelemetry,
  });
  const reload = reloader.reload();
  await reloader.close();

  const late = toRuntime(2);
  building.resolve(late);
  await expect(reload).rejects.toThrow("closed");
  expect(replaced).not.toHaveBeenCalled();
  expect(late.agent.close).toHaveBeenCalledOnce();
  expect(late.tools.close).toHaveBeenCalledOnce();
  expect(first.agent.close).not.toHaveBeenCalled();
});

function toRuntime(generation: number): Runtime {
  const config = { store: {} };
  return { generation, config, files: [], warnings: [], agent: { close: vi.fn() }, tools: { close: vi.fn() } } as never;
}
