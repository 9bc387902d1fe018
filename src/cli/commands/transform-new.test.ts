import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { newTransform } from "./transform-new.ts";

test.each(["../status", "a/b", "", ".hidden", "name with spaces", "wake", "agent"])(
  "refuses the name %j and writes nothing",
  async (name) => {
    const dir = mkdtempSync(path.join(tmpdir(), "hookline-new-"));
    await expect(newTransform(name, { dir })).rejects.toThrow(/name/);
    expect(readdirSync(dir)).toEqual([]);
    rmSync(dir, { recursive: true });
  },
);
