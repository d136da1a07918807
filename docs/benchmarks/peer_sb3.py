"""Steps a second of Stable-Baselines3's PPO with its default settings on the CPU, training included. Prints a JSON line."""

import json
import sys
import time

import torch
from stable_baselines3 import PPO

torch.set_num_threads(1)
agent = PPO("MlpPolicy", sys.argv[1], seed=0, device="cpu")
began = time.perf_counter()
agent.learn(int(sys.argv[2]))
seconds = time.perf_counter() - began
print(json.dumps({"task": sys.argv[1], "steps_per_second": agent.num_timesteps / seconds}))
