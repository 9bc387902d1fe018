import { findPresets, readPreset } from "./file.ts";

/** The name of a preset's type in `hookline/presets`: that of its sender, as `GitHub`, unless two presets have one sender. */
export function toTypeName(preset: string): string {
  const title = readTitle(preset);
  const isShared = findPresets().some((other) => other !== preset && readTitle(other) === title);
  return toPascalCase(isShared ? preset : title);
}

function readTitle(preset: string): string {
  const title = readPreset(preset).preset.common?.["name"];
  return typeof title === "string" && !title.includes("{{") ? title : preset;
}

function toPascalCase(text: string): string {
  const parts = text.split(/[^A-Za-z0-9]+/).filter((part) => part !== "");
  return parts.map((part) => part.slice(0, 1).toUpperCase() + part.slice(1)).join("");
}
