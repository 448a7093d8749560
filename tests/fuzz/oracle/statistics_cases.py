#!/usr/bin/env python3
"""Writes tests/engines/statistics/cases.jsonl: 1,000 random cases of what core/stats computes for the
evaluation checks, with the answers of scipy and statsmodels. Made once; run it with both installed:

    python3 tests/fuzz/oracle/statistics_cases.py > tests/engines/statistics/cases.jsonl
"""
import json
import random

import numpy
import scipy
import statsmodels
import statsmodels.api as sm
from scipy import optimize, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

Z = 1.959964
ALPHA = 2 * stats.norm.sf(Z)
rng = random.Random(20)


def say(kind, **case):
    print(json.dumps({"kind": kind, **case}))


def wilson():
    n = rng.choice([1, 2, 7, 20, 50, 100, 1319, 10**6])
    k = rng.randint(0, n)
    low, high = proportion_confint(k, n, alpha=ALPHA, method="wilson")
    say("wilson", k=k, n=n, low=low, high=high)


def newcombe():
    n1, n2 = rng.choice([5, 20, 60, 500, 4000]), rng.choice([5, 33, 60, 500, 4000])
    k1, k2 = rng.randint(0, n1), rng.randint(0, n2)
    low, high = confint_proportions_2indep(k2, n2, k1, n1, method="newcomb", compare="diff", alpha=ALPHA)
    say("newcombe", k1=k1, n1=n1, k2=k2, n2=n2, low=low, high=high)


def mcnemar():
    n = rng.choice([0, 1, 5, 12, 40, 300, 3000])
    b = rng.randint(0, n)
    p = stats.binomtest(b, n, 0.5).pvalue if n else 1.0
    say("mcnemar", b=b, c=n - b, p=p)


def paired_binary():
    """The interval is that of a mean of -1, 0, 1 with the variance over n."""
    lost, gained, same = rng.randint(0, 40), rng.randint(0, 40), rng.randint(1, 200)
    d = numpy.array([-1.0] * lost + [1.0] * gained + [0.0] * same)
    half = Z * d.std(ddof=0) / numpy.sqrt(len(d))
    say("paired_binary", lost=lost, gained=gained, n=len(d), low=d.mean() - half, high=d.mean() + half)


def paired_scores():
    n = rng.randint(3, 40)
    d = [round(rng.uniform(-1, 1), 3) for _ in range(n)]
    mean, se = float(numpy.mean(d)), float(stats.sem(d))
    p = 2 * stats.norm.sf(abs(mean) / se)
    say("paired_scores", d=d, mean=mean, se=se, p=p, low=mean - Z * se, high=mean + Z * se)


def clustered():
    groups = sorted(rng.randint(0, 6) for _ in range(rng.randint(8, 40)))
    d = [round(rng.uniform(-1, 1), 3) for _ in groups]
    fit = sm.OLS(d, numpy.ones(len(d))).fit(
        cov_type="cluster", cov_kwds={"groups": numpy.array(groups), "use_correction": False})
    say("clustered", d=d, cluster=groups, mean=float(fit.params[0]), se=float(fit.bse[0]))


def holm():
    p = [round(rng.choice([rng.random() ** 3, rng.random() * 0.05]), 6) for _ in range(rng.randint(1, 9))]
    say("holm", p=p, rejects=[bool(r) for r in multipletests(p, alpha=0.05, method="holm")[0]])


def power():
    omega = rng.choice([0.05, 0.1, 0.2, 0.3, 0.5])
    delta = round(rng.uniform(0.02, omega), 4)
    a, b = stats.norm.ppf(0.975), stats.norm.ppf(0.8)
    need = ((a * numpy.sqrt(omega) + b * numpy.sqrt(omega - delta**2)) / delta) ** 2
    visible = optimize.brentq(
        lambda x: ((a * numpy.sqrt(omega) + b * numpy.sqrt(max(0.0, omega - x**2))) / x) ** 2 - need, 1e-4, omega**0.5)
    say("power", omega=omega, delta=delta, n=float(need), visible=float(visible))


def controlled():
    """The penalised fit by a general minimiser; ties weigh both ways."""
    n = rng.randint(50, 90)
    base = [rng.randint(5, 400) for _ in range(n)]
    ft = [max(1, int(b * rng.uniform(0.6, 2.2))) for b in base]
    score = [rng.choice([0.0, 1.0, 1.0, 0.5]) for _ in range(n)]
    delta = numpy.array(ft, float) - numpy.array(base, float)
    sd = delta.std(ddof=1)
    x, y = numpy.tanh(delta / sd), numpy.array(score)

    def loss(t):
        z = t[0] + t[1] * x
        return numpy.sum(numpy.logaddexp(0, z) - y * z) + 0.5 * t[1] ** 2

    def gradient(t):
        p = 1 / (1 + numpy.exp(-(t[0] + t[1] * x)))
        return numpy.array([numpy.sum(p - y), numpy.sum((p - y) * x) + t[1]])

    fit = optimize.minimize(loss, [0.0, 0.0], jac=gradient, method="BFGS", options={"gtol": 1e-11})
    say("controlled", base=base, ft=ft, score=score, sd=float(sd), theta=float(fit.x[0]),
        phi=float(fit.x[1]), rate=float(1 / (1 + numpy.exp(-fit.x[0]))))


def main():
    say("made", scipy=scipy.__version__, statsmodels=statsmodels.__version__, numpy=numpy.__version__)
    kinds = [(wilson, 160), (newcombe, 160), (mcnemar, 150), (paired_binary, 110), (paired_scores, 110),
             (clustered, 80), (holm, 80), (power, 100), (controlled, 50)]
    for make, n in kinds:
        for _ in range(n):
            make()


main()
