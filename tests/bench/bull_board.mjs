// bull_board.mjs - bull-board's API over BullMQ: node bull_board.mjs SOCKET PORT
//
// POST /api/queues/bench/add adds a job.
import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import { ExpressAdapter } from "@bull-board/express";
import { Queue } from "bullmq";
import express from "express";
import { Redis } from "ioredis";

const [path, port] = process.argv.slice(2);
const connection = new Redis({ path, maxRetriesPerRequest: null });
const serverAdapter = new ExpressAdapter();
createBullBoard({ queues: [new BullMQAdapter(new Queue("bench", { connection }))], serverAdapter });
const app = express();
app.use("/", serverAdapter.getRouter());
app.listen(Number(port), "127.0.0.1", () => console.log("ready"));
