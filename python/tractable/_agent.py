"""An agent that learns continuous actions by inference."""

import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _progress
from ._tractable import Agent as _Native
from ._tractable import Network, Task

Array = NDArray[Any]
Settings = Literal["default", "gentle", "as-published"]


@dataclass(frozen=True)
class _Box:
    """Bounds of observations or actions."""

    low: Array
    high: Array
    dtype: Any = np.float64

    @property
    def shape(self) -> tuple[int, ...]:
        return self.low.shape

    @classmethod
    def of(cls, env: Any, what: str) -> "_Box":
        if not hasattr(env, what):
            raise TypeError(f"env: {env!r} has no {what}; expected a Task or a Gymnasium environment")
        space = getattr(env, what)
        if not (hasattr(space, "low") and hasattr(space, "high")):
            raise ValueError(f"{what}: {space} is not a Box; the agent takes and gives continuous numbers only")
        return cls(np.asarray(space.low), np.asarray(space.high), space.dtype)


@dataclass(frozen=True)
class _Spaces:
    """What an agent must know of a task."""

    observation_space: _Box
    action_space: _Box

    @classmethod
    def of(cls, env: Any) -> "_Spaces":
        if isinstance(env, Task):
            observations, actions = env.observation_bounds, env.action_bounds
            return cls(_Box(*map(np.array, observations)), _Box(*map(np.array, actions)))
        if hasattr(env, "num_envs"):
            raise TypeError(f"env: {env!r} is a vector environment; give a single one")
        return cls(_Box.of(env, "observation_space"), _Box.of(env, "action_space"))


class _Foreign:
    """A Gymnasium environment as the native agent calls it."""

    def __init__(self, env: Any, spaces: _Spaces) -> None:
        self.env = env
        self.observation_space = spaces.observation_space
        self.action_space = spaces.action_space
        self.here = True
        """Whether the environment is in the state that the agent knows."""

    def reset(self, seed: int) -> Any:
        said = self.env.reset(seed=seed)
        self.here = True
        return said

    def step(self, action: Array) -> Any:
        if not self.here:
            # It cannot go back to where the agent was: that episode is cut off, and the agent starts the next one.
            return self.env.reset()[0], 0.0, False, True, {}
        return self.env.step(action.astype(self.action_space.dtype, copy=False))


class Agent:
    """Learns continuous actions in a task, embedded (Task) or any Gymnasium environment whose spaces are a Box.

    settings: "default" explores widely and takes large steps; "gentle" is for tasks that a few extreme actions end, such
    as balancing a pole; "as-published" is the authors' code. Single settings go after it by name: seed, horizon, batch,
    discount and more; `settings` lists them all.

        env = tractable.Task("inverted-pendulum", limit=1000)
        agent = tractable.Agent(env, "gentle", seed=1)
        returns = agent.learn(env, 100_000)
        agent.evaluate(env, episodes=10).mean()
    """

    def __init__(self, env: Any, settings: Settings = "default", **overrides: Any) -> None:
        spaces = _Spaces.of(env)
        text = json.dumps(overrides, default=lambda v: v.tolist())
        self._take(_Native._new(spaces, settings, text), spaces)

    def _take(self, native: _Native, spaces: _Spaces, world: Array | None = None) -> None:
        self._native = native
        self._spaces = spaces
        self._foreign: _Foreign | None = None
        """The Gymnasium environment of the last rollout."""
        self._world = world
        """State of the embedded task after the last rollout."""
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def _alone(self) -> Iterator[_Native]:
        """Other threads wait, without Python's lock; the task itself must not use its agent."""
        if self._owner == threading.get_ident():
            raise RuntimeError("the agent is in the middle of a rollout; its environment cannot use it")
        with self._lock:
            self._owner = threading.get_ident()
            try:
                yield self._native
            finally:
                self._owner = None

    def learn(
        self,
        env: Any,
        steps: int,
        *,
        progress: "_progress.Progress | bool | None" = None,
        callback: Callable[["Agent"], Any] | None = None,
    ) -> NDArray[np.float64]:
        """Acts and learns for at least this many steps, in whole rollouts (`horizon`); the returns of finished episodes.

        Ctrl-C ends it early, and what was learned is kept. What the environment raises comes out; the agent is then as after
        the last complete rollout. Calling it again continues. A Gymnasium environment cannot go back: if it was used in
        between, or failed, the agent's episode there counts as cut off, and the next one starts. progress: a function of (done, total, text), True for a bar,
        False for nothing; None shows a bar on a terminal. callback: called with the agent after every rollout; returning
        True stops.
        """
        if steps < 1:
            raise ValueError(f"steps: {steps} is not positive")
        returns: list[float] = []
        show, begin = _progress.start(progress), self.steps
        try:
            while self.steps < begin + steps:
                returns += self._rollout(env)
                if show is not None:
                    average = self.average
                    done = min(self.steps - begin, steps)
                    show(done, steps, "learn" if average is None else f"average return {average:.6g}")
                if callback is not None and callback(self) is True:
                    break
        except KeyboardInterrupt:
            pass
        finally:
            if isinstance(show, _progress.Bar):
                show.close()
        return np.array(returns)

    def _rollout(self, env: Any) -> list[float]:
        with self._alone() as native:
            if isinstance(env, Task):
                if self._world is not None:
                    env.restore(self._world)
                try:
                    said = native.rollout(env)
                finally:  # Ctrl-C arrives here, after the rollout
                    self._world = env.state()
            else:
                here = self._foreign is not None and self._foreign.env is env and self._foreign.here
                if self._foreign is None or self._foreign.env is not env:
                    self._foreign = _Foreign(env, _Spaces.of(env))
                foreign = self._foreign
                foreign.here = here or native.steps == 0
                try:
                    said = native.rollout(foreign)
                except BaseException:
                    foreign.here = False
                    raise
        return [total for _, _, total in said["episodes"]]

    def act(self, observation: Any) -> Array:
        """The policy's action, without exploration, shaped like the action space."""
        with self._alone() as native:
            action: Array = native.act(observation)
        space = self._spaces.action_space
        return action.reshape(space.shape).astype(space.dtype, copy=False)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Array, Any]:
        """Actions for one observation or a batch, as Stable-Baselines3's models give them."""
        if not deterministic:
            raise ValueError("deterministic: the agent explores while it learns only")
        observation = np.asarray(observation)
        if observation.ndim == len(self._spaces.observation_space.shape):
            return self.act(observation), state
        return np.array([self.act(row) for row in observation]), state

    def evaluate(self, env: Any, episodes: int = 10, seed: int = 0) -> NDArray[np.float64]:
        """Plays episodes without exploration or learning; their returns. seed: for their starts."""
        spaces = _Spaces.of(env)
        if isinstance(env, Task):
            if len(env.state()) % 2 == 0:  # positions and velocities; a limit adds its counter
                raise ValueError("env: this task has no end; give it a limit, as in Task(name, limit=1000)")
            task: Any = env
        else:
            task = _Foreign(env, spaces)
        with self._alone() as native:
            if self._foreign is not None and self._foreign.env is env:
                self._foreign.here = False
            played = native.evaluate(task, episodes, seed)
        return np.array([total for _, _, total in played])

    @property
    def settings(self) -> dict[str, Any]:
        """All settings."""
        with self._alone() as native:
            settings: dict[str, Any] = json.loads(native._settings)
        return settings

    @property
    def steps(self) -> int:
        """Steps taken."""
        with self._alone() as native:
            return native.steps

    @property
    def episodes(self) -> int:
        """Episodes finished."""
        with self._alone() as native:
            return native.episodes

    @property
    def average(self) -> float | None:
        """Average return of the last 100 episodes, or None before the first has ended."""
        with self._alone() as native:
            return native.average

    @property
    def policy(self) -> Network:
        """A copy of the policy."""
        with self._alone() as native:
            return native.policy

    @property
    def value(self) -> Network:
        """A copy of the value network."""
        with self._alone() as native:
            return native.value

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that load() and the program read."""
        with self._alone() as native:
            native.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], env: Any) -> "Agent":
        """Reads an agent for a task like this one.

        An embedded task returns to where the agent was, and learning continues identically. A Gymnasium environment cannot go
        back: learning continues with a new episode.
        """
        agent = cls.__new__(cls)
        own = isinstance(env, Task)
        spaces = _Spaces.of(env)
        native = _Native.load(path, env if own else spaces)
        agent._take(native, spaces, env.state() if own and native.steps > 0 else None)
        return agent

    def __getstate__(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "agent.safetensors")
            self.save(path)
            return {"file": path.read_bytes(), "spaces": self._spaces, "world": self._world}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "agent.safetensors")
            path.write_bytes(kept["file"])
            self._take(_Native.load(path, kept["spaces"]), kept["spaces"], kept["world"])

    def __repr__(self) -> str:
        with self._alone() as native:
            return repr(native)
