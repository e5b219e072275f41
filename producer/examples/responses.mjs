import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.env.QUERN_URL}/v1`, apiKey: process.env.QUERN_KEY });
const tools = [{ type: "code_interpreter", container: { type: "auto" } }];
let response = await client.responses.create({ input: "How many primes below 1000?", tools, background: true });
while (["queued", "in_progress"].includes(response.status)) {
  await new Promise((resolve) => setTimeout(resolve, 500));
  response = await client.responses.retrieve(response.id);
}
console.log(response.output_text);
