"""The embedded tasks as Gymnasium environments."""

import copy
import pickle
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

import tractable.gym  # noqa: E402

NAMES = ["HalfCheetah-v5", "InvertedPendulum-v5", "Pendulum-v1"]
LIMITS = {"HalfCheetah-v5": 1000, "InvertedPendulum-v5": 1000, "Pendulum-v1": 200}


def theirs(name):
    """Gymnasium's own, without wrappers."""
    if name != "Pendulum-v1":
        pytest.importorskip("mujoco", reason="MuJoCo is not installed")
        pytest.importorskip("imageio", reason="gymnasium's MuJoCo environments need imageio")
    return gymnasium.make(name).unwrapped


def actions(env, steps, seed=0):
    space = env.action_space
    return np.random.default_rng(seed).uniform(space.low, space.high, (steps, *space.shape))


def state_of(own):
    return own.state if hasattr(own, "state") else np.concatenate([own.data.qpos, own.data.qvel])


@pytest.mark.parametrize("name", NAMES)
def test_gymnasiums_checker_is_content(name):
    env = gymnasium.make(f"tractable/{name}", render_mode="rgb_array")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_env(env.unwrapped)
    # The bounds are Gymnasium's own: MuJoCo observations have none, and actions reach 3 or 2.
    known = ("infinity", "symmetric and normalized")
    assert [str(w.message) for w in said if not any(k in str(w.message) for k in known)] == []


@pytest.mark.parametrize("name", NAMES)
def test_spaces_and_limits_are_gymnasiums(name):
    ours, own = gymnasium.make(f"tractable/{name}"), theirs(name)
    assert ours.observation_space == own.observation_space
    assert ours.action_space == own.action_space
    assert ours.observation_space.dtype == own.observation_space.dtype
    assert ours.spec.max_episode_steps == gymnasium.spec(name).max_episode_steps == LIMITS[name]
    assert ours.metadata["render_fps"] == own.metadata["render_fps"]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_starts_the_same_episode(name):
    ours, own = gymnasium.make(f"tractable/{name}").unwrapped, theirs(name)
    for seed in [0, 7, None]:  # None goes on drawing
        (a, a_info), (b, b_info) = ours.reset(seed=seed), own.reset(seed=seed)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-15 if a.dtype == np.float64 else 1e-7)
        assert a_info.keys() == b_info.keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_step_has_gymnasiums_numbers(name):
    """A hundred steps, each from Gymnasium's state: contact is chaotic, so engines that agree to the last digit drift
    apart. MuJoCo 4 stops its solver early, which changes the sixth digit of a step in which a joint hits its limit."""
    ours, own = gymnasium.make(f"tractable/{name}").unwrapped, theirs(name)
    own.reset(seed=3)
    ours.reset(seed=3)
    apart = []
    for action in actions(own, 100):
        state = state_of(own)
        ours.set_state(state[: len(state) // 2], state[len(state) // 2 :])
        a, b = ours.step(action), own.step(action)
        apart.append(np.abs(a[0] - b[0]).max())
        assert a[1] == pytest.approx(b[1], abs=1e-6)
        assert a[2:4] == b[2:4]
        assert a[4].keys() == b[4].keys()
        for key, value in b[4].items():
            assert a[4][key] == pytest.approx(value, abs=1e-6)
    assert np.quantile(apart, 0.9) < 1e-11 and max(apart) < 1e-5


@pytest.mark.parametrize(("name", "steps", "apart"),
                         [("HalfCheetah-v5", 25, 1e-6), ("InvertedPendulum-v5", 100, 1e-6), ("Pendulum-v1", 100, 1e-6)])
def test_free_runs_stay_together(name, steps, apart):
    ours, own = gymnasium.make(f"tractable/{name}").unwrapped, theirs(name)
    ours.reset(seed=5)
    own.reset(seed=5)
    for action in actions(own, steps).astype(np.float32):
        a, b = ours.step(action), own.step(action)
        np.testing.assert_allclose(a[0], b[0], rtol=0, atol=apart)
        assert a[1] == pytest.approx(b[1], abs=apart)


@pytest.mark.parametrize("name", NAMES)
def test_episodes_are_cut_off_at_the_limit(name):
    env = gymnasium.make(f"tractable/{name}")
    observation, _ = env.reset(seed=0)
    for step in range(1, 2000):
        action = [2 * observation[1] + 0.5 * observation[3]] if name.startswith("Inverted") else env.action_space.low * 0
        observation, _, terminated, truncated, _ = env.step(np.array(action, dtype=np.float32))
        if terminated or truncated:
            break
    if name.startswith("Inverted"):
        assert truncated or (terminated and step > 10)
    else:
        assert (step, truncated, terminated) == (LIMITS[name], True, False)


def test_a_fallen_pole_ends_the_episode():
    env = gymnasium.make("tractable/InvertedPendulum-v5")
    env.reset(seed=0)
    env.unwrapped.set_state(np.array([0.0, 0.3]), np.zeros(2))
    _, reward, terminated, truncated, _ = env.step(np.zeros(1, dtype=np.float32))
    assert (reward, terminated, truncated) == (0.0, True, False)


@pytest.mark.parametrize("name", NAMES)
def test_the_vector_environment_does_what_single_ones_do(name):
    """Compared with Gymnasium's own loop over single environments, through the ends of episodes."""
    ours = gymnasium.make_vec(f"tractable/{name}", num_envs=3, max_episode_steps=10)
    loop = gymnasium.make_vec(f"tractable/{name}", num_envs=3, max_episode_steps=10, vectorization_mode="sync")
    assert isinstance(ours, tractable.gym.TaskVectorEnv)
    assert ours.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert ours.observation_space == loop.observation_space and ours.action_space == loop.action_space
    (a, a_info), (b, b_info) = ours.reset(seed=4), loop.reset(seed=4)
    np.testing.assert_array_equal(a, b)
    assert a_info.keys() == b_info.keys()
    ends = 0
    for action in actions(ours, 40).astype(np.float32):
        a, b = ours.step(action), loop.step(action)
        for x, y in zip(a[:4], b[:4]):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype
        for key, value in b[4].items():
            np.testing.assert_array_equal(a[4][key], value)
        ends += int((a[2] | a[3]).sum())
    assert ends >= 9


def test_the_vector_environment_keeps_the_registered_limit():
    env = gymnasium.make_vec("tractable/Pendulum-v1", num_envs=2)
    env.reset(seed=[1, 2])
    cut = [env.step(np.zeros((2, 1), np.float32))[3].all() for _ in range(201)]
    assert [i for i, c in enumerate(cut, 1) if c] == [200]


def test_wrong_calls_of_the_vector_environment_are_errors():
    with pytest.raises(ValueError, match="num_envs"):
        tractable.gym.TaskVectorEnv("pendulum", num_envs=0)
    env = tractable.gym.TaskVectorEnv("pendulum", num_envs=2)
    with pytest.raises(ValueError, match="3 seeds for 2"):
        env.reset(seed=[1, 2, 3])
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions"):
        env.step(np.zeros((3, 1)))


@pytest.mark.parametrize("name", NAMES)
def test_pictures_show_the_bodies(name):
    env = gymnasium.make(f"tractable/{name}", render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    assert before.shape == (480, 480, 3) and before.dtype == np.uint8
    blue = (before[..., 2] > before[..., 0]).mean()
    assert 0.005 < blue < 0.2
    for _ in range(5):
        env.step(env.action_space.high)
    assert (env.render() != before).any()


def test_only_known_render_modes_are_taken():
    with pytest.raises(ValueError, match="render_mode"):
        tractable.gym.TaskEnv("pendulum", render_mode="human")


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_pickles_go_on_alike(name):
    env = gymnasium.make(f"tractable/{name}").unwrapped
    env.reset(seed=2)
    all_actions = actions(env, 6)
    env.step(all_actions[0])
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for action in all_actions[1:]:
        expected = env.step(action)[0]
        for twin in twins:
            np.testing.assert_array_equal(twin.step(action)[0], expected)
    start = env.reset()[0]  # the generator is copied too
    for twin in twins:
        np.testing.assert_array_equal(twin.reset()[0], start)
