// bullmq.mjs - the round trip through BullMQ: node bullmq.mjs worker|producer SOCKET
//
// The producer reads "N" a line, submits N jobs one after the other, each when
// the one before has its result, and prints their milliseconds as JSON.
import { createInterface } from "node:readline";
import { Queue, QueueEvents, Worker } from "bullmq";
import { Redis } from "ioredis";

const [role, path] = process.argv.slice(2);
const connect = () => new Redis({ path, maxRetriesPerRequest: null });

if (role === "worker") {
  const worker = new Worker("bench", async () => ({ answer: "" }), {
    connection: connect(),
  });
  await worker.waitUntilReady();
  console.log("ready");
} else {
  const queue = new Queue("bench", { connection: connect() });
  const events = new QueueEvents("bench", { connection: connect() });
  await events.waitUntilReady();
  console.log("ready");
  for await (const line of createInterface({ input: process.stdin })) {
    const times = [];
    for (let i = 0; i < Number(line); i++) {
      const start = performance.now();
      const job = await queue.add("empty", {});
      await job.waitUntilFinished(events);
      times.push(performance.now() - start);
    }
    console.log(JSON.stringify(times));
  }
  process.exit(0);
}
