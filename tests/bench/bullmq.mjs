// bullmq.mjs - a queue of BullMQ: node bullmq.mjs worker|producer SOCKET [CONCURRENCY]
//
// The producer reads "N [VERB]" a line and prints what came of it as JSON:
//   trips  N jobs one after the other, each when the one before has its result:
//          the milliseconds of each
//   one    the same without waiting for results: the seconds of all
//   many   N jobs by addBulk: the seconds of all
//   weigh  the same of jobs that carry a text of 200 bytes
import { createInterface } from "node:readline";
import { Queue, QueueEvents, Worker } from "bullmq";
import { Redis } from "ioredis";

const BULK = 1000;
const TEXT = { text: "x".repeat(200) };
const [role, path, concurrency] = process.argv.slice(2);
const connect = () => new Redis({ path, maxRetriesPerRequest: null });

async function seconds(action) {
  const start = performance.now();
  await action();
  return (performance.now() - start) / 1e3;
}

async function trips(queue, events, count) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    const job = await queue.add("empty", {});
    await job.waitUntilFinished(events);
    times.push(performance.now() - start);
  }
  return times;
}

async function one(queue, count) {
  for (let i = 0; i < count; i++) await queue.add("empty", {});
}

async function many(queue, count, data = {}) {
  const jobs = Array.from({ length: count }, () => ({ name: "empty", data }));
  for (let at = 0; at < count; at += BULK)
    await queue.addBulk(jobs.slice(at, at + BULK));
}

if (role === "worker") {
  const worker = new Worker("bench", async () => ({ answer: "" }), {
    connection: connect(),
    concurrency: Number(concurrency ?? 1),
  });
  await worker.waitUntilReady();
  console.log("ready");
} else {
  const queue = new Queue("bench", { connection: connect() });
  const events = new QueueEvents("bench", { connection: connect() });
  await events.waitUntilReady();
  console.log("ready");
  for await (const line of createInterface({ input: process.stdin })) {
    const [count, verb = "trips"] = line.split(" ");
    const verbs = {
      trips: () => trips(queue, events, Number(count)),
      one: () => seconds(() => one(queue, Number(count))),
      many: () => seconds(() => many(queue, Number(count))),
      weigh: () => seconds(() => many(queue, Number(count), TEXT)),
    };
    console.log(JSON.stringify(await verbs[verb]()));
  }
  process.exit(0);
}
