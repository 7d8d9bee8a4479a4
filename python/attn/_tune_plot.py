"""Draws what tunings have tried, with Matplotlib."""

import statistics

from ._errors import InvalidArgument

# Verdicts of candidates whose results are right.
_RIGHT = ("", "slower", "not surely faster")


def best_so_far(trials):
    """For each candidate that ran the least time up to it, from the compiler's
    choice on; the trials are those of a report of a tuning."""
    best, times = float("inf"), []
    for trial in trials:
        if trial["seconds"] > 0 and trial["verdict"] in _RIGHT:
            best = min(best, trial["seconds"])
        times.append(best)
    return times


def expect_drawable(path):
    """Raises what can be known of a picture before there is anything to draw."""
    if path.suffix not in (".svg", ".png"):
        raise InvalidArgument(
            f"expects the name of a picture to end in .svg or .png, but got '{path}'"
        )
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise InvalidArgument(f"a picture needs Matplotlib: {error}") from error


def best_of_turns(trials, turns):
    """For each turn (elapsed, trial, seconds) the least median so far of what ran
    right."""
    times, best = {}, []
    for turn in turns:
        if trials[turn["trial"]]["verdict"] in _RIGHT:
            times.setdefault(turn["trial"], []).append(turn["seconds"])
        medians = map(statistics.median, times.values())
        best.append(min(medians, default=float("nan")))
    return best


def _draw_turns(axes, trials, turns):
    axes.set_xlabel("seconds of the search")
    for label, color, fits in (
        ("the compiler's choice", "C0", lambda number: number == 0),
        ("candidates", "C7", lambda number: number > 0),
    ):
        own = [turn for turn in turns if fits(turn["trial"])]
        axes.scatter(
            [turn["elapsed"] for turn in own],
            [1e6 * turn["seconds"] for turn in own],
            s=8,
            color=color,
            label=label,
        )
    best = [1e6 * seconds for seconds in best_of_turns(trials, turns)]
    elapsed = [turn["elapsed"] for turn in turns]
    axes.step(elapsed, best, where="post", color="C2", label="best so far")


def _draw_trials(axes, trials):
    axes.set_xlabel("candidate; 0 is the compiler's choice")
    ran = [(n, 1e6 * t["seconds"]) for n, t in enumerate(trials) if t["seconds"]]
    lost = [n for n, t in enumerate(trials) if not t["seconds"]]
    axes.scatter([n for n, _ in ran], [us for _, us in ran], s=14, label="median")
    best = [1e6 * seconds for seconds in best_so_far(trials)]
    axes.step(range(len(best)), best, where="post", color="C2", label="best so far")
    # At the upper edge: they have no time.
    axes.scatter(
        lost,
        [0.98] * len(lost),
        marker="x",
        color="C3",
        transform=axes.get_xaxis_transform(),
        label="did not run",
    )


def plot(searches, path):
    """Writes an SVG or a PNG, by the name of the file, with a picture for each
    (title, report): the times of candidates over that of the search, where the
    report has turns, otherwise by their numbers, and the best so far."""
    expect_drawable(path)
    if not searches:
        raise InvalidArgument("expects a tuning to draw, but there is none")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.5 * len(searches)), layout="constrained")
    FigureCanvasAgg(figure)
    all_axes = figure.subplots(len(searches), squeeze=False)[:, 0]
    for axes, (title, report) in zip(all_axes, searches):
        axes.set_title(title, fontsize="medium")
        axes.set_ylabel("us")
        if report.get("turns"):
            _draw_turns(axes, report["trials"], report["turns"])
        else:
            _draw_trials(axes, report["trials"])
        axes.legend(fontsize="small")
    figure.savefig(path)
