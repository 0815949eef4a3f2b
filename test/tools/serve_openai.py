"""Typical code of users of the openai package, run against a server of serve.py: serve_openai.py PORT texts|embeddings"""
import sys

import openai

client = openai.OpenAI(base_url=f"http://127.0.0.1:{sys.argv[1]}/v1", api_key="secret", max_retries=0)
if sys.argv[2] == "embeddings":
    # The client asks for base64 unless told otherwise.
    vectors = [client.embeddings.create(model="bert", input=["a loom", "words"], **more).data for more in ({}, {"encoding_format": "float"})]
    assert [each.index for each in vectors[0]] == [0, 1] and len(vectors[0][0].embedding) == 48
    assert all(abs(one - other) < 1e-6 for one, other in zip(vectors[0][1].embedding, vectors[1][1].embedding))
    try:
        client.embeddings.create(model="bert", input="a", dimensions=8)
    except openai.BadRequestError:
        sys.exit(print(f"openai {openai.__version__} gets vectors"))
    sys.exit("dimensions are ignored")

assert [model.id for model in client.models.list()] == ["counting"]

answer = client.completions.create(model="counting", prompt="seven eight nine", max_tokens=2, temperature=0, logprobs=2, echo=True)
assert answer.choices[0].text == "seven eight nine ten one", answer
assert answer.choices[0].logprobs.token_logprobs[0] is None and answer.choices[0].logprobs.token_logprobs[-1] < 0
assert answer.usage.completion_tokens == 2 and answer.choices[0].finish_reason == "length"
answer = client.completions.create(model="counting", prompt=["one two", "three four"], max_tokens=3, n=2, seed=1)
assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]

messages = [{"role": "developer", "content": "five six"}, {"role": "user", "content": [{"type": "text", "text": "seven"}]}]
chat = client.chat.completions.create(model="counting", messages=messages, max_completion_tokens=2, temperature=0, logprobs=True,
                                      top_logprobs=2)
assert chat.choices[0].message.role == "assistant" and chat.choices[0].message.content.split() == ["eight", "nine"], chat
assert len(chat.choices[0].logprobs.content) == 2 and len(chat.choices[0].logprobs.content[0].top_logprobs) == 2
pieces, usage = [], None
with client.chat.completions.create(model="counting", messages=messages, max_tokens=2, temperature=0, stream=True,
                                    stream_options={"include_usage": True}) as stream:
    for event in stream:
        usage = event.usage or usage
        pieces += [choice.delta.content or "" for choice in event.choices]
assert "".join(pieces) == chat.choices[0].message.content and usage.completion_tokens == 2, (pieces, usage)

response = client.responses.create(model="counting", input="five six seven", max_output_tokens=2, temperature=0)
assert response.output_text.split() == ["eight", "nine"], response
deltas = [event.delta for event in client.responses.create(model="counting", input="five six seven", max_output_tokens=2, temperature=0,
                                                           stream=True) if event.type == "response.output_text.delta"]
assert "".join(deltas) == response.output_text

for kind, call in ((openai.NotFoundError, lambda: client.completions.create(model="other", prompt="a")),
                   (openai.BadRequestError, lambda: client.chat.completions.create(
                       model="counting", messages=messages, tools=[{"type": "function", "function": {"name": "f"}}])),
                   (openai.BadRequestError, lambda: client.chat.completions.create(
                       model="counting", messages=messages, response_format={"type": "json_object"})),
                   (openai.BadRequestError, lambda: client.responses.create(model="counting", input="a", previous_response_id="b")),
                   (openai.BadRequestError, lambda: client.embeddings.create(model="counting", input="a")),
                   (openai.AuthenticationError, lambda: openai.OpenAI(base_url=client.base_url, api_key="wrong").models.list())):
    try:
        call()
    except kind as error:
        assert error.message
    else:
        sys.exit(f"no {kind.__name__}")
print(f"openai {openai.__version__} gets along with it")
