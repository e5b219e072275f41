import { randomBytes } from "node:crypto";
import { decode, encode } from "@msgpack/msgpack";
import Redis from "ioredis";
const [r, ROOT] = [new Redis(process.env.REDIS_URL), "quern:{000}:"];
const ENDS = /^job\.(completed|incomplete|failed|cancelled)$/;
const ms = Date.now().toString(16).padStart(12, "0"), tail = randomBytes(8).toString("hex");
const id = `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8${tail.slice(0, 3)}-${tail.slice(3, 15)}`;
const job = encode({ v: 1, id, prompt: "How many primes are there below 1000?" });
await r.call("FCALL", "quern_v1_submit", 1, ROOT, "id", id, "job", Buffer.from(job));
for (let seq = 0, type = ""; !ENDS.test(type) && (await r.exists(`${ROOT}job:${id}`));) {
  const news = await r.xreadBuffer("BLOCK", 5000, "STREAMS", `${ROOT}events:${id}`, `${seq}-0`);
  for (const [, [, event]] of news?.[0][1] ?? [])
    console.log(({ seq, type } = decode(event)).type);
}
const result = decode((await r.getBuffer(`${ROOT}result:${id}`)) ?? encode({}));
console.log(result.answer ?? result.error?.message ?? result.status ?? `no result of job ${id}`);
r.disconnect();
