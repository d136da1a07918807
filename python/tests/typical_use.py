"""What people write, for the type checkers; it also runs."""

import numpy as np
import tractable as tr
from numpy.typing import NDArray
from tractable.sklearn import TractableClassifier, TractableRegressor

x: NDArray[np.float64] = np.linspace(-2, 2, 60)
y = x**3 - 3 * x

net = tr.Network.mlp([1, 32, 1], activation="mixture_relu", seed=0)
info: tr.LearnInfo = net.learn(x, y)
report = net.fit(x, y, epochs=2, batch=1, noise_std=0.1, progress=False)
p: tr.Prediction = net.predict(x)
lower, upper = p.interval(0.9)
width: NDArray[np.float64] = upper - lower
post: tr.Posterior = net.condition([[0.5]], -1.0, std=0.1, noise_std=0.1)
best: tr.Mode = post.modes()[0]
print(info.rows, report["epochs"], float(width.mean()), best.weight, best.mean)

images = tr.Network((1, 8, 8), [tr.Layer.conv2d(4, 3), "relu", tr.Layer.linear(3)], classes=3)
probabilities: NDArray[np.float64] = images.predict_proba(np.zeros((2, 1, 8, 8)))

model = tr.Ensemble.fit(x, y, visits=500, single=True)
model.learn([[0.3]], [0.1])
model.condition([[0.5]], [-1.0], std=0.1)

regressor = TractableRegressor(visits=500, single=True).fit(x[:, None], y)
mean, std = regressor.predict(x[:, None], return_std=True)
classifier = TractableClassifier(visits=500, single=True).fit(x[:, None], y > 0)
print(mean.shape, std.shape, classifier.predict_proba(x[:3, None]))

search = tr.Optimizer([(-2.0, 2.0)], seed=0)
point = search.ask()
search.tell(point, float(point[0] ** 2))
