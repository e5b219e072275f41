import os, openai

client = openai.OpenAI(base_url=os.environ["QUERN_URL"] + "/v1", api_key=os.environ["QUERN_KEY"])
tools = [{"type": "code_interpreter", "container": {"type": "auto"}}]
first = client.responses.create(input="How many primes are there below 1000?", tools=tools)
print(first.output_text)
for event in client.responses.create(input="And their sum?", previous_response_id=first.id, tools=tools, stream=True):
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)
