"""The embedded tasks as Gymnasium environments.

Importing this module registers them: `tractable/HalfCheetah-v5`, `tractable/InvertedPendulum-v5` and
`tractable/Pendulum-v1`. They start and move as Gymnasium's own do: the same seed gives the same episode, up to rounding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import Task

__all__ = ["TaskEnv", "TaskVectorEnv"]

Array = NDArray[Any]


def _cheetah_start(rng: np.random.Generator) -> Array:
    return np.concatenate([rng.uniform(-0.1, 0.1, 9), 0.1 * rng.standard_normal(9)])


def _pole_start(rng: np.random.Generator) -> Array:
    return np.concatenate([rng.uniform(-0.01, 0.01, 2), rng.uniform(-0.01, 0.01, 2)])


def _rod_start(rng: np.random.Generator) -> Array:
    return rng.uniform([-np.pi, -1.0], [np.pi, 1.0])


@dataclass(frozen=True)
class _Kind:
    """What differs between the tasks."""

    dtype: type
    """Of observations."""
    limit: int
    """Steps of an episode."""
    fps: int
    dt: float
    start: Callable[[np.random.Generator], Array]
    """Positions and velocities at the start of an episode, drawn as Gymnasium does."""
    view: tuple[float, float]
    """For pictures: the height of the centre and half the side, in metres."""


_KINDS = {
    "half-cheetah": _Kind(np.float64, 1000, 20, 0.05, _cheetah_start, (0.7, 1.6)),
    "inverted-pendulum": _Kind(np.float64, 1000, 25, 0.04, _pole_start, (0.3, 1.3)),
    "pendulum": _Kind(np.float32, 200, 30, 0.05, _rod_start, (0.0, 1.3)),
}

_IDS = {
    "tractable/HalfCheetah-v5": "half-cheetah",
    "tractable/InvertedPendulum-v5": "inverted-pendulum",
    "tractable/Pendulum-v1": "pendulum",
}


def _space(bounds: tuple[list[float], list[float]], dtype: type) -> spaces.Box:
    return spaces.Box(np.array(bounds[0], dtype), np.array(bounds[1], dtype), dtype=dtype)


class TaskEnv(gymnasium.Env[Array, Array]):
    """An embedded task: half-cheetah, inverted-pendulum or pendulum. Without a time limit; gymnasium.make adds it."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(self, task: str, render_mode: str | None = None) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode: {render_mode!r} is not None or 'rgb_array'")
        self.task = Task(task)
        self.render_mode = render_mode
        self._name = task
        self._kind = _KINDS[task]
        self.metadata = {**self.metadata, "render_fps": self._kind.fps}
        self.observation_space = _space(self.task.observation_bounds, self._kind.dtype)
        self.action_space = _space(self.task.action_bounds, np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self.task.restore(self._kind.start(self.np_random))
        state = self.state
        return self._observation(state), {"x_position": state[0]} if self._name == "half-cheetah" else {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        before = self.state[0] if self._name == "half-cheetah" else 0.0
        observation, reward, terminated, _ = self.task.step(action)
        observation = observation.astype(self._kind.dtype, copy=False)
        return observation, reward, terminated, False, self._info(before, reward)

    @property
    def state(self) -> Array:
        """Positions, then velocities."""
        state: Array = self.task.state()
        return state

    def set_state(self, qpos: Array, qvel: Array) -> None:
        """Continues from these positions and velocities."""
        self.task.restore(np.concatenate([qpos, qvel]))

    def render(self) -> Array | None:
        """A picture as bytes, [480, 480, 3]."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() without a render_mode; create the environment with render_mode="rgb_array"')
            return None
        runs = self._name == "half-cheetah"
        follow = float(self.state[0]) if runs else 0.0
        return _picture(np.array(self.task.segments()), follow, *self._kind.view, ground=runs)

    def _observation(self, state: Array) -> Array:
        if self._name == "half-cheetah":
            return state[1:]
        if self._name == "pendulum":
            return np.array([np.cos(state[0]), np.sin(state[0]), state[1]], dtype=np.float32)
        return state

    def _info(self, before: float, reward: float) -> dict[str, Any]:
        """What Gymnasium's own environments tell beside a step."""
        if self._name == "inverted-pendulum":
            return {"reward_survive": int(reward)}
        if self._name == "pendulum":
            return {}
        after = self.state[0]
        velocity = (after - before) / self._kind.dt
        return {
            "x_position": after,
            "x_velocity": velocity,
            "reward_forward": velocity,
            "reward_ctrl": reward - velocity,
        }

    # Copies and pickles continue where this one is.

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "task": self.state}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.task = Task(self._name)
        self.task.restore(kept["task"])


class TaskVectorEnv(VectorEnv[Array, Array, Array]):
    """Several copies of an embedded task. The step after an episode's last one starts the next (NEXT_STEP)."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs: {num_envs} is not positive")
        self.envs = [TaskEnv(task, render_mode) for _ in range(num_envs)]
        self.num_envs = num_envs
        self.max_episode_steps = _KINDS[task].limit if max_episode_steps is None else max_episode_steps
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": _KINDS[task].fps}
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._done = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """One seed is followed by the next whole numbers; a list has one seed per copy."""
        seeds = seed if isinstance(seed, list) else [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed: {len(seeds)} seeds for {self.num_envs} environments")
        infos: dict[str, Any] = {}
        observations = np.empty(self.observation_space.shape or (), self.observation_space.dtype)
        for i, env in enumerate(self.envs):
            observations[i], info = env.reset(seed=seeds[i])
            infos = self._add_info(infos, info, i)
        self._steps[:] = 0
        self._done[:] = False
        return observations, infos

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        actions = np.asarray(actions)
        if actions.shape != self.action_space.shape:
            raise ValueError(f"actions: expected shape {self.action_space.shape}, got {actions.shape}")
        infos: dict[str, Any] = {}
        observations = np.empty(self.observation_space.shape or (), self.observation_space.dtype)
        rewards = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        self._steps += 1
        for i, env in enumerate(self.envs):
            if self._done[i]:
                observations[i], info = env.reset()
                self._steps[i] = 0
            else:
                observations[i], rewards[i], terminated[i], _, info = env.step(actions[i])
            infos = self._add_info(infos, info, i)
        truncated = self._steps >= self.max_episode_steps
        self._done = terminated | truncated
        return observations, rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """One picture per copy."""
        return None if self.render_mode is None else tuple(env.render() for env in self.envs)


_SIDE = 480
_PAPER, _GROUND, _BODY, _MARK = (np.array(c, dtype=float) for c in
                                 [(255, 255, 255), (225, 225, 225), (52, 101, 164), (150, 150, 150)])


def _picture(segments: Array, follow: float, middle: float, half: float, ground: bool) -> Array:
    """Thick lines with round ends; the ground has a mark at every metre."""
    pixel = 2 * half / _SIDE
    across = (np.arange(_SIDE) + 0.5) * pixel - half
    x, z = follow + across, middle - across
    image = np.broadcast_to(_PAPER, (_SIDE, _SIDE, 3)).copy()
    if ground:
        image[z < 0.0] = _GROUND
        image[np.ix_((z < 0.0) & (z > -0.1), np.abs(x - np.round(x)) < 0.02)] = _MARK
    for x0, z0, x1, z1, radius in segments:
        reach = radius + pixel
        columns = slice(*np.searchsorted(x, [min(x0, x1) - reach, max(x0, x1) + reach]))
        lines = slice(*np.searchsorted(-z, [-max(z0, z1) - reach, -min(z0, z1) + reach]))
        dx, dz, right, up = x1 - x0, z1 - z0, x[columns] - x0, z[lines, None] - z0
        along = np.clip((right * dx + up * dz) / max(dx * dx + dz * dz, 1e-12), 0.0, 1.0)
        away = np.hypot(right - along * dx, up - along * dz)
        cover = np.clip((radius - away) / pixel + 0.5, 0.0, 1.0)[..., None]  # soft edges
        image[lines, columns] += cover * (_BODY - image[lines, columns])
    return image.astype(np.uint8)


def _register() -> None:
    for name, task in _IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point="tractable.gym:TaskEnv",
                vector_entry_point="tractable.gym:TaskVectorEnv",
                max_episode_steps=_KINDS[task].limit,
                kwargs={"task": task},
            )


_register()
