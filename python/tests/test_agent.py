"""The agent, in embedded tasks and in Gymnasium environments."""

import _thread
import copy
import pickle
import signal
import threading

import numpy as np
import pytest

import tractable
from tractable import Agent, Task

SMALL = {"horizon": 64, "value_layers": [16], "policy_layers": [16]}


def pole():
    return Task("inverted-pendulum", limit=1000)


@pytest.fixture
def gymnasium():
    return pytest.importorskip("gymnasium", reason="gymnasium is not installed")


class Toy:
    """Move a point to 0; spaces of several dimensions. Gymnasium's methods, without Gymnasium."""

    class Space:
        def __init__(self, low, high, shape, dtype=np.float32):
            self.low, self.high = np.full(shape, low, dtype), np.full(shape, high, dtype)
            self.shape, self.dtype = shape, np.dtype(dtype)

    def __init__(self, high=1.0, shape=(2, 2)):
        self.observation_space = self.Space(-np.inf, np.inf, shape)
        self.action_space = self.Space(-high, high, shape)
        self.count, self.seeds, self.running = 0, [], False

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        self.at = np.random.default_rng(seed).normal(size=self.action_space.shape).astype(np.float32)
        self.left, self.running = 20, True
        return self.at, {}

    def step(self, action):
        assert self.running, "reset first"
        assert action.shape == self.action_space.shape and action.dtype == np.float32
        assert (np.abs(action) <= self.action_space.high).all()
        self.count += 1
        self.left -= 1
        self.at = (self.at + 0.1 * action).astype(np.float32)
        self.running = self.left > 0
        return self.at, np.float32(-(self.at**2).sum()), np.bool_(False), not self.running, {}


# Learning.


def test_the_agent_balances_a_pole():
    env = pole()
    agent = Agent(env, "gentle", seed=0)
    returns = agent.learn(env, 50_000)
    assert agent.steps == 50_176 and agent.episodes == len(returns)  # whole rollouts of 1024
    assert returns[-50:].mean() > 10 * returns[:50].mean()
    assert agent.average == pytest.approx(returns[-100:].mean())
    assert agent.evaluate(env, episodes=5, seed=1).mean() > 900


def test_it_learns_alike_in_gymnasiums_own_environment(gymnasium):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    pytest.importorskip("imageio", reason="gymnasium's MuJoCo environments need imageio")
    env = gymnasium.make("InvertedPendulum-v5")
    agent = Agent(env, "gentle", seed=0)
    returns = agent.learn(env, 50_000)
    assert returns[-50:].mean() > 10 * returns[:50].mean()
    assert agent.evaluate(env, episodes=5, seed=1).mean() > 900


def test_it_learns_to_swing_up():
    env = Task("pendulum", limit=200)
    returns = Agent(env, seed=0, discount=0.9).learn(env, 60_000)
    assert returns[-50:].mean() > returns[:50].mean() + 200


@pytest.mark.parametrize("name", ["Pendulum-v1", "MountainCarContinuous-v0", "tractable/HalfCheetah-v5"])
def test_it_runs_in_any_environment_with_a_box_of_actions(gymnasium, name):
    import tractable.gym  # noqa: F401

    env = gymnasium.make(name, max_episode_steps=50)
    agent = Agent(env, seed=0, **SMALL)
    returns = agent.learn(env, 200)
    assert agent.steps == 256 and len(returns) == agent.episodes == 5
    assert len(agent.evaluate(env, episodes=2)) == 2
    action = agent.act(env.reset(seed=0)[0])
    assert action.shape == env.action_space.shape and env.action_space.contains(action)


def test_the_same_seed_learns_the_same():
    def run(seed):
        env = pole()
        return Agent(env, seed=seed, **SMALL).learn(env, 256)

    np.testing.assert_array_equal(run(3), run(3))
    assert run(3).tolist() != run(4).tolist()


def test_spaces_may_have_several_dimensions():
    def run(shape):
        env = Toy(shape=shape)
        agent = Agent(env, seed=0, **SMALL)
        returns = agent.learn(env, 256)
        action = agent.act(env.reset(seed=0)[0])
        assert env.count == 256 and action.shape == shape and action.dtype == np.float32
        seeds = env.seeds[:-1]
        assert all(0 <= seed < 2**31 for seed in seeds) and len(set(seeds)) == len(seeds) == 13
        return returns, action.ravel()

    flat, square = run((4,)), run((2, 2))
    np.testing.assert_array_equal(flat[0], square[0])
    np.testing.assert_array_equal(flat[1], square[1])


# Stopping and continuing.


def test_progress_and_callback():
    env, seen = pole(), []
    agent = Agent(env, seed=0, **SMALL)
    agent.learn(env, 100, progress=lambda *said: seen.append(said))
    assert [(done, of) for done, of, _ in seen] == [(64, 100), (100, 100)] and "average" in seen[-1][2]
    agent.learn(env, 10_000, callback=lambda a: a is agent and a.steps >= 256)
    assert agent.steps == 256


@pytest.mark.parametrize("at", [1, 10, 64, 65, 150])
def test_ctrl_c_keeps_the_work(at):
    class Interrupted(Toy):
        def step(self, action):
            if self.count == at - 1 and not self.seeds.count(None):
                self.count += 1
                raise KeyboardInterrupt
            return super().step(action)

    env = Interrupted()
    agent = Agent(env, seed=0, **SMALL)
    returns = agent.learn(env, 640)
    rollouts = (at - 1) // 64
    assert agent.steps == 64 * rollouts and len(returns) == agent.episodes == 64 * rollouts // 20
    agent.learn(env, 64)  # starts a new episode where the old one was lost
    assert agent.steps == 64 * (rollouts + 1)


@pytest.mark.parametrize("task", [pole, Toy])
def test_ctrl_c_from_outside_keeps_the_work(task):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    env = task()
    agent = Agent(env, seed=0, **SMALL)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    agent.learn(env, 10**9)
    timer.join()
    steps = agent.steps
    assert steps > 0 and steps % 64 == 0
    agent.learn(env, 64)
    assert agent.steps == steps + 64


def test_an_interrupted_run_continues_identically():
    def run(interrupted):
        env = pole()
        agent = Agent(env, seed=0, **SMALL)

        def interrupt(agent):
            if interrupted and agent.steps == 128:
                raise KeyboardInterrupt

        first = agent.learn(env, 256, callback=interrupt)
        return [*first, *agent.learn(env, 512 - agent.steps)]

    assert run(False) == run(True)


def test_what_the_environment_raises_comes_out():
    class Broken(Toy):
        def step(self, action):
            if self.count == 100:
                raise ZeroDivisionError("a broken wheel")
            return super().step(action)

    env = Broken()
    agent = Agent(env, seed=0, **SMALL)
    with pytest.raises(ZeroDivisionError, match="a broken wheel"):
        agent.learn(env, 1000)
    assert agent.steps == 64
    env.count = 0
    agent.learn(env, 64)
    assert agent.steps == 128


@pytest.mark.parametrize(("reward", "words"), [(np.nan, "reward"), ("much", "real number")])
def test_rewards_must_be_numbers(reward, words):
    class Odd(Toy):
        def step(self, action):
            return (*super().step(action)[:1], reward, False, False, {})

    env = Odd()
    with pytest.raises((TypeError, ValueError), match=words):
        Agent(env, **SMALL).learn(env, 64)


def test_evaluation_between_does_not_disturb_learning():
    def run(between):
        env = pole()
        agent = Agent(env, seed=0, **SMALL)
        first = agent.learn(env, 128)
        if between:
            agent.evaluate(env, 3)
        return [*first, *agent.learn(env, 128)]

    assert run(False) == run(True)
    env = Toy()
    agent = Agent(env, seed=0, **SMALL)
    agent.learn(env, 64)
    agent.evaluate(env, 1)
    agent.learn(env, 64)
    agent.learn(Toy(), 64)  # another copy
    assert agent.steps == 192


# Files and copies.


@pytest.mark.parametrize("how", ["file", "pickle", "copy"])
def test_a_copy_continues_identically(how, tmp_path):
    env, other = pole(), pole()
    agent = Agent(env, seed=0, **SMALL)
    agent.learn(env, 128)
    if how == "file":
        agent.save(tmp_path / "agent.safetensors")
        twin = Agent.load(tmp_path / "agent.safetensors", other)
    else:
        twin = pickle.loads(pickle.dumps(agent)) if how == "pickle" else copy.deepcopy(agent)
    assert repr(twin) == repr(agent) and twin.settings == agent.settings
    np.testing.assert_array_equal(twin.learn(other, 256), agent.learn(env, 256))
    np.testing.assert_array_equal(twin.act([0.1, 0.2, 0.3, 0.4]), agent.act([0.1, 0.2, 0.3, 0.4]))


@pytest.mark.parametrize("how", ["file", "pickle"])
def test_a_copy_starts_a_new_episode_in_a_gymnasium_environment(how, tmp_path):
    env = Toy()
    agent = Agent(env, seed=0, **SMALL)
    agent.learn(env, 64)
    agent.save(tmp_path / "agent.safetensors")
    twin = Agent.load(tmp_path / "agent.safetensors", Toy()) if how == "file" else pickle.loads(pickle.dumps(agent))
    np.testing.assert_array_equal(twin.act(np.ones((2, 2))), agent.act(np.ones((2, 2))))
    twin.learn(Toy(), 64)
    assert twin.steps == 128


def test_a_file_for_another_task_is_refused(tmp_path):
    Agent(pole(), **SMALL).save(tmp_path / "agent.safetensors")
    with pytest.raises(ValueError, match="another task"):
        Agent.load(tmp_path / "agent.safetensors", Task("pendulum"))
    with pytest.raises(FileNotFoundError):
        Agent.load(tmp_path / "nothing", pole())


# Settings and errors.


def test_settings():
    env = pole()
    agent = Agent(env, "gentle", seed=7, horizon=32, discount=np.float64(0.9), policy_layers=np.array([8, 8]))
    settings = agent.settings
    assert (settings["seed"], settings["horizon"], settings["discount"], settings["policy_layers"]) == (7, 32, 0.9, [8, 8])
    assert settings["trace"] == 1.0 and Agent(env).settings["trace"] == 0.9
    assert Agent(env, "as-published").settings["squash"] == "twice"
    assert agent.policy.outputs == 1 and agent.value.input_shape[0] == 5
    with pytest.raises(ValueError, match="horizont"):
        Agent(env, horizont=32)
    with pytest.raises(ValueError, match="wild.*default, gentle or as-published"):
        Agent(env, "wild")
    with pytest.raises(ValueError, match="discount"):
        Agent(env, discount=2.0)


def test_discrete_actions_are_an_error(gymnasium):
    with pytest.raises(ValueError, match=r"action_space: Discrete\(2\) is not a Box"):
        Agent(gymnasium.make("CartPole-v1"))


def test_actions_without_bounds_are_an_error():
    with pytest.raises(ValueError, match="finite bounds"):
        Agent(Toy(high=np.inf))


def test_what_is_not_a_single_environment_is_an_error(gymnasium):
    with pytest.raises(TypeError, match="vector environment"):
        Agent(gymnasium.make_vec("Pendulum-v1", num_envs=2))
    with pytest.raises(TypeError, match="has no observation_space"):
        Agent("Pendulum-v1")
    env = pole()
    with pytest.raises(ValueError, match="steps"):
        Agent(env).learn(env, 0)
    with pytest.raises(ValueError, match="no end"):
        Agent(env).evaluate(Task("inverted-pendulum"))


def test_the_environment_cannot_use_its_agent():
    class Curious(Toy):
        def step(self, action):
            agent.act(self.at)
            return super().step(action)

    env = Curious()
    agent = Agent(env, **SMALL)
    with pytest.raises(RuntimeError, match="middle of a rollout"):
        agent.learn(env, 64)
    assert agent.act(np.zeros((2, 2))).shape == (2, 2)


def test_another_thread_waits():
    env, seen = Toy(), []
    agent = Agent(env, **SMALL)
    watcher = threading.Thread(target=lambda: seen.extend(agent.steps for _ in range(5)))
    watcher.start()
    agent.learn(env, 640)
    watcher.join(30)
    assert not watcher.is_alive() and all(steps % 64 == 0 for steps in seen) and len(seen) == 5


# Stable-Baselines3's manner.


def test_predict_takes_one_observation_or_a_batch():
    agent = Agent(pole(), **SMALL)
    one, state = agent.predict(np.zeros(4))
    many, _ = agent.predict(np.zeros((3, 4)), deterministic=True)
    assert one.shape == (1,) and state is None and many.shape == (3, 1)
    np.testing.assert_array_equal(many[1], one)
    with pytest.raises(ValueError, match="explores"):
        agent.predict(np.zeros(4), deterministic=False)


def test_stable_baselines3_evaluates_the_agent(gymnasium):
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation", reason="Stable-Baselines3 is not installed")
    import tractable.gym  # noqa: F401

    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("tractable/Pendulum-v1"))
    mean, _ = evaluation.evaluate_policy(Agent(env, **SMALL), env, n_eval_episodes=2, warn=False)
    assert -2000 < mean < 0


def test_the_package_has_it():
    assert tractable.Agent is Agent
