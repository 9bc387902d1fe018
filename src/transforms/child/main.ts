import { Socket } from "node:net";
import { createFrameReader, type Message, noteProgress, type Order } from "../sandbox/protocol.ts";
import { createJobRunner, type JobRunner } from "./jobs.ts";
import { createReportBox } from "./report-box.ts";

/*
 * The entry of a sandbox process. Orders come in on standard input and are carried out one after the other; reports
 * go out on standard output, one for each job, in order. It ends with its pipe, so that no child outlives its supervisor.
 */

type JobOrder = Extract<Order, { job: number; module: string }>;

/** How long it works before it reads again: a cancellation then overtakes what it cancels. */
const TURN_MS = 5;
const READ_BYTES = 64 * 1024;
const waiting: Message<Order>[] = [];
const cancelled = new Set<number>();
const reports = createReportBox();
let runner: JobRunner;
/** The module whose job ran last. */
let lastModule = "";

readInput(createFrameReader<Order>(receive), () => process.kill(process.pid, "SIGKILL"));
reports.add({ kind: "ready" });
reports.send();

/** Past the machinery of streams, which costs much where nothing is compiled. */
function readInput(onChunk: (chunk: Buffer) => void, onEnd: () => void): void {
  const callback = (size: number, bytes: Uint8Array): boolean => {
    onChunk(Buffer.copyBytesFrom(bytes, 0, size));
    return true;
  };
  const onread = { buffer: Buffer.alloc(READ_BYTES), callback };
  new Socket({ fd: 0, writable: false, onread }).on("end", onEnd).resume();
}

function receive(message: Message<Order>): void {
  if (message.head.kind === "cancel") cancelled.add(message.head.job);
  else if (waiting.push(message) === 1) setImmediate(carryOutSome);
}

function carryOutSome(): void {
  const until = performance.now() + TURN_MS;
  do {
    carryOut(waiting[0]!);
    waiting.shift();
    if (reports.isDue()) reports.send();
  } while (waiting.length > 0 && performance.now() < until);
  if (waiting.length > 0) {
    setImmediate(carryOutSome);
  } else {
    reports.send();
    // What came too late for its job cancels nothing.
    cancelled.clear();
  }
}

function carryOut({ head: order, text, body }: Message<Order>): void {
  if (order.kind === "realm") runner = createJobRunner(text);
  else if (order.kind === "load") runner.load(order, text);
  else if (order.kind === "unload") runner.unload(order.module);
  else if (order.kind !== "cancel") {
    // Of a cancelled job nobody reads the answer; it only keeps its place in the row.
    const startedAt = performance.now();
    const answer = cancelled.delete(order.job) ? "" : run(order, text, body);
    const micros = Math.round((performance.now() - startedAt) * 1000);
    reports.add({ kind: "answer", job: order.job, micros }, answer);
  }
}

function run({ job, kind: operation, module, timeoutMs }: JobOrder, text: string, body: Buffer): string {
  // The job may never end: nobody's answer is to wait for another module, and no other job to be taken for it.
  if (module !== lastModule) reports.send();
  if (!reports.isEmpty()) noteProgress(job);
  lastModule = module;
  return runner.run(module, { operation, text, body: body.toString("utf8"), timeoutMs });
}
