// Ask quern with ioredis and @msgpack/msgpack alone: node plain.mjs QUESTION [FILE]...
// "Function not found": nobody has used this Redis yet; run any quern verb
// (quern queue ls) or a quern-consumer once.
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { decode, encode } from "@msgpack/msgpack";
import Redis from "ioredis";

const ROOT = "quern:{000}:";
const ONGOING = ["scheduled", "queued", "in_progress", "waiting"];
const ENDS = ["job.completed", "job.incomplete", "job.failed", "job.cancelled"];
const redis = new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1:6379");

function fail(why) {
  console.error(why);
  process.exit(1);
}

// A UUIDv7; the three digits after the 7 are the partition.
function newId() {
  const ms = Date.now().toString(16).padStart(12, "0");
  const noise = randomBytes(8).toString("hex");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8${noise.slice(0, 3)}-${noise.slice(3, 15)}`;
}

const sha256 = (data) => createHash("sha256").update(data).digest("hex");

async function put(path) {
  const data = readFileSync(path);
  const blob = sha256(data);
  const key = `${ROOT}blob:${blob}`;
  if ((await redis.set(key, data, "EX", 86400, "NX")) === null) {
    await redis.set(key, data, "KEEPTTL", "XX"); // what is there may be false
    await redis.expire(key, 86400, "GT");
  }
  return { name: basename(path), blob, bytes: data.length };
}

async function submit(job) {
  const id = newId();
  const bytes = Buffer.from(encode({ v: 1, id, ...job }));
  const blobs = job.files.flatMap((file) => ["blob", file.blob]); // to live as long as the job
  await redis.call("FCALL", "quern_v1_submit", 1, ROOT, "id", id, "job", bytes, ...blobs);
  return id;
}

// Every event once, in order: subscribe, then read what is new at every message.
function follow(id, show, last = 0) {
  const key = `${ROOT}events:${id}`;
  const live = redis.duplicate({ autoResubscribe: false });
  let reading = Promise.resolve();
  return new Promise((resolve, reject) => {
    let over = false;
    const read = async () => {
      if (over) return;
      const state = (await redis.hget(`${ROOT}job:${id}`, "state")) ?? "unknown";
      const entries = await redis.xrangeBuffer(key, `(${last}-0`, "+");
      for (const event of entries.map(([, fields]) => decode(fields[1]))) {
        last = event.seq;
        show(event);
        if ((over = ENDS.includes(event.type))) return resolve(live.disconnect());
      }
      if (!ONGOING.includes(state)) fail(`job ${id} is ${state}, its events are not kept`);
    };
    const wake = () => (reading = reading.then(read).catch(reject));
    live.on("message", wake);
    live.on("ready", () => live.subscribe(key).then(wake, reject)); // and again
  });
}

const [question, ...paths] = process.argv.slice(2);
const files = await Promise.all(paths.map(put));
const id = await submit({ prompt: question, files });
await follow(id, (event) => console.error(event.seq, event.type, event.data.text ?? ""));
const result = decode(await redis.getBuffer(`${ROOT}result:${id}`));
for (const image of result.images ?? []) {
  const png = (await redis.getBuffer(`${ROOT}blob:${image.blob}`)) ?? "";
  if (sha256(png) !== image.blob)
    fail(`${image.name}: its bytes are gone, or are not what was drawn`);
  writeFileSync(basename(image.name), png);
}
console.log(result.answer ?? result.error?.message ?? result.status);
redis.disconnect();
