import { writeSync } from "node:fs";
import { Socket } from "node:net";
import {
  BATCH_LENGTH,
  createFrameReader,
  encodeFrame,
  type Message,
  NO_BODY,
  noteProgress,
  type Order,
  type Report,
} from "../sandbox/protocol.ts";
import { createModules, type Modules } from "./isolate.ts";

// The entry of a sandbox process. It reads orders from standard input, executes them one after the other, and writes one
// report per job, in order, to standard output. It ends when its pipe does, so that it never outlives its supervisor.

type JobOrder = Extract<Order, { job: number; module: string }>;

/** How long it works before it reads again, so that a cancellation can overtake the job that it cancels. */
const TURN_MS = 5;
const READ_BYTES = 64 * 1024;
const STDOUT = 1;
/** How long an answer waits for others to be sent with it, unless the next job takes longer. */
const HOLD_MS = 1;

const waiting: Message<Order>[] = [];
const cancelled = new Set<number>();
let modules: Modules;
/** The module of the job that ran last. */
let lastModule = "";
/** Reports that are not sent yet: together they wake the supervisor once. */
let reports: Message<Report>[] = [];
let reportsLength = 0;
let reportsSince = 0;

readInput(createFrameReader<Order>(receive), () => process.kill(process.pid, "SIGKILL"));
addReport({ kind: "ready" });
sendReports();

/** Avoids Node's streams, which are slow without a JIT compiler. */
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
  else if (waiting.push(message) === 1) setImmediate(executeSome);
}

function executeSome(): void {
  const until = performance.now() + TURN_MS;
  do {
    execute(waiting[0]!);
    waiting.shift();
    if (reportsLength >= BATCH_LENGTH || performance.now() - reportsSince >= HOLD_MS) sendReports();
  } while (waiting.length > 0 && performance.now() < until);
  if (waiting.length > 0) {
    setImmediate(executeSome);
  } else {
    sendReports();
    // A cancellation that came after its job cancels nothing.
    cancelled.clear();
  }
}

function execute({ head: order, text, body }: Message<Order>): void {
  if (order.kind === "realm") modules = createModules(text);
  else if (order.kind === "load") modules.load(order, text);
  else if (order.kind === "unload") modules.unload(order.module);
  else if (order.kind !== "cancel") {
    const startedAt = performance.now();
    // Nobody reads the answer of a cancelled job; it only keeps the order.
    const answer = cancelled.delete(order.job) ? "" : runJob(order, text, body);
    const micros = Math.round((performance.now() - startedAt) * 1000);
    addReport({ kind: "answer", job: order.job, micros }, answer);
  }
}

function runJob({ job, kind: operation, module, timeoutMs }: JobOrder, text: string, body: Buffer): string {
  // This job may never end. No answer may wait for another module, and no other job may be taken for the running one.
  if (module !== lastModule) sendReports();
  if (reports.length > 0) noteProgress(job);
  lastModule = module;
  return modules.run(module, { operation, text, body: body.toString("utf8"), timeoutMs });
}

function addReport(head: Report, text = ""): void {
  if (reports.length === 0) reportsSince = performance.now();
  reports.push({ head, text, body: NO_BODY });
  reportsLength += text.length;
}

/** Blocks while the pipe is full: until it is read there is nothing else to do. */
function sendReports(): void {
  if (reports.length === 0) return;
  const bytes = encodeFrame(reports);
  for (let start = 0; start < bytes.length;) start += writeSync(STDOUT, bytes, start);
  reports = [];
  reportsLength = 0;
}
