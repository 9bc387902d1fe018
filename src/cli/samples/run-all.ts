import type { TransformRunner } from "../../transforms/port.ts";
import { describeError } from "../fail.ts";
import { buildSamples } from "./build.ts";
import { findSamples, type Sample, type SampleSet } from "./find.ts";
import { reportBroken, reportSample, reportTally, type Tally } from "./report.ts";
import { type RunOptions, runSample, type SampleResult } from "./run.ts";

export interface RunAllOptions {
  /** Absolute. */
  folder: string;
  runner: TransformRunner;
  update: boolean;
}

/** Runs every sample below a folder and prints what came of each; the last line counts them. */
export async function runAllSamples(options: RunAllOptions): Promise<Tally> {
  const tally: Tally = { passed: 0, updated: 0, failed: 0 };
  for (const set of findSamples(options.folder)) {
    console.log(set.name);
    await runSet(set, options, tally);
  }
  console.log(`\n${reportTally(tally)}`);
  return tally;
}

async function runSet(set: SampleSet, options: RunAllOptions, tally: Tally): Promise<void> {
  try {
    const { folder, runner, update } = options;
    const program = await buildSamples(set, folder, runner);
    for (const sample of set.samples) await runOne(sample, { program, runner, update }, tally);
  } catch (error) {
    tally.failed += Math.max(1, set.samples.length);
    print(reportBroken("it cannot be loaded", describeError(error)));
  }
}

async function runOne(sample: Sample, options: RunOptions, tally: Tally): Promise<void> {
  try {
    const result = await runSample(sample, options);
    tally[toColumn(result)]++;
    print(reportSample(sample.name, result));
  } catch (error) {
    tally.failed++;
    print(reportBroken(sample.name, describeError(error)));
  }
}

function toColumn({ kind }: SampleResult): keyof Tally {
  return kind === "passed" || kind === "updated" ? kind : "failed";
}

function print(lines: string[]): void {
  console.log(lines.join("\n"));
}
