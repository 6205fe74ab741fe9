"""Run by the environment that has OpenAI's own client: asks the service at URL with TOKEN for two rewards, and prints them."""

import json
import sys

import openai

URL, TOKEN = sys.argv[1:]

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)
grader = {"type": "score_model", "name": "accurate", "model": "jury", "input": []}
run = client.fine_tuning.alpha.graders.run
reward = run(grader=grader, model_sample="Summary.", item={"source": "Note."}).reward
print(json.dumps({"reward": reward, "hung": run(grader=grader, model_sample="The wrist.").reward}))
