import { expect, test, vi } from "vitest";
import { silentTelemetry } from "../telemetry/telemetry.ts";
import type { Program } from "./build.ts";
import { createReloader } from "./reload.ts";

test("close does not wait for a build, and a program that is complete later is not used", async () => {
  const building = Promise.withResolvers<Program>();
  const replaced = vi.fn();
  const first = toProgram(1);
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

  const late = toProgram(2);
  building.resolve(late);
  await expect(reload).rejects.toThrow("closed");
  expect(replaced).not.toHaveBeenCalled();
  expect(late.agent.close).toHaveBeenCalledOnce();
  expect(first.agent.close).not.toHaveBeenCalled();
});

function toProgram(generation: number): Program {
  const config = { store: {} };
  return { generation, config, files: [], warnings: [], agent: { close: vi.fn() } } as never;
}
