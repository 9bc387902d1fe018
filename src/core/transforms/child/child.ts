import { writeSync } from "node:fs";
import { Socket } from "node:net";
import {
  CHUNK_BYTES,
  createFrameReader,
  encodeFrame,
  type Message,
  type Order,
  type Report,
} from "../sandbox/protocol.ts";
import { createModules, type Modules } from "./isolate.ts";

// The entry of a sandbox process. It reads orders from standard input, executes them one after the other, and reports on
// jobs, in order, to standard output. It ends when its pipe does, so that it never outlives its supervisor.

type OrderMessage = Message<Order, string>;
type JobOrder = Extract<Order, { job: number }>;

/** How long it works before it reads again, so that a cancellation can overtake the job that it cancels. */
const TURN_MS = 5;
const STDOUT = 1;

/** Their bodies are text already, so that no buffer waits for the garbage collector. */
const waiting: OrderMessage[] = [];
/** The rest of them is executed in another step of the event loop. */
let isScheduled = false;
const canceled = new Set<number>();
let modules: Modules;

readInput(createFrameReader<Order>(receive), () => process.kill(process.pid, "SIGKILL"));
send({ kind: "ready" });

/**
 * Avoids Node's streams, which are slow without a JIT compiler, and executes what it has read without another step of the
 * event loop.
 */
function readInput(onChunk: (chunk: Buffer) => void, onEnd: () => void): void {
  const callback = (size: number, bytes: Uint8Array): boolean => {
    onChunk(Buffer.from(bytes.buffer, bytes.byteOffset, size));
    if (!isScheduled) executeSome();
    return true;
  };
  const onread = { buffer: Buffer.alloc(CHUNK_BYTES), callback };
  new Socket({ fd: 0, writable: false, onread }).on("end", onEnd).resume();
}

function receive(message: OrderMessage): void {
  if (message.head.kind === "cancel") for (const job of message.head.jobs) canceled.add(job);
  else waiting.push(message);
}

function executeSome(): void {
  const until = performance.now() + TURN_MS;
  for (let message = waiting.shift(); message; message = waiting.shift()) {
    execute(message);
    if (performance.now() >= until) break;
  }
  isScheduled = waiting.length > 0;
  if (isScheduled) setImmediate(executeSome);
  // A cancellation that came after its job cancels nothing.
  else canceled.clear();
}

function execute(message: OrderMessage): void {
  const { head: order, text } = message;
  if (order.kind === "realm") modules = createModules(text);
  else if (order.kind === "loadPackages") modules.loadPackages(order.packages, text);
  else if (order.kind === "unloadPackages") modules.unloadPackages(order.packages);
  else if (order.kind === "load") modules.load(order, text);
  else if (order.kind === "unload") modules.unload(order.module);
  else if (order.kind !== "cancel") runJobs(order, message);
}

/** Each report is sent at once: the next job may never end, and no other may be taken for the running one. */
function runJobs(order: JobOrder, message: OrderMessage): void {
  const { kind: operation, job, module, timeoutMs } = order;
  const { text: inputs, bodies } = message;
  const startedAt = performance.now();
  // The jobs of an order are canceled all or none.
  const ran = canceled.has(job) ? { answers: "" } : modules.run(module, { operation, inputs, bodies, timeoutMs });
  if (ran === undefined) {
    waiting.unshift(...splitCalls(order, message));
    send({ kind: "split", job });
  } else {
    const { answers, ms = performance.now() - startedAt } = ran;
    send({ kind: "answers", job, count: bodies.length, micros: Math.round(ms * 1000) }, answers);
    modules.sweep();
  }
}

function splitCalls(order: JobOrder, { text, bodies }: OrderMessage): OrderMessage[] {
  const inputs: unknown[] = JSON.parse(text);
  return bodies.map((body, index) => ({
    head: { ...order, job: order.job + index },
    text: JSON.stringify([inputs[index]]),
    bodies: [body],
  }));
}

/** Blocks while the pipe is full: until it is read there is nothing else to do. */
function send(head: Report, text = ""): void {
  for (const part of encodeFrame([{ head, text, bodies: [] }])) {
    for (let start = 0; start < part.length;) start += writeSync(STDOUT, part, start);
  }
}
