"""Draws what tunings have tried, with Matplotlib."""

from ._errors import InvalidArgument


def best_so_far(trials):
    """For each candidate that ran the least time up to it, from the compiler's
    choice on; the trials are those of a report of a tuning."""
    best, times = float("inf"), []
    for trial in trials:
        if trial["seconds"] > 0 and trial["verdict"] in ("", "slower"):
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


def plot(searches, path):
    """Writes an SVG or a PNG, by the name of the file, with a picture for each
    (title, trials): the time of each candidate, and the best so far."""
    expect_drawable(path)
    if not searches:
        raise InvalidArgument("expects a tuning to draw, but there is none")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.5 * len(searches)), layout="constrained")
    FigureCanvasAgg(figure)
    all_axes = figure.subplots(len(searches), squeeze=False)[:, 0]
    for axes, (title, trials) in zip(all_axes, searches):
        ran = [(n, 1e6 * t["seconds"]) for n, t in enumerate(trials) if t["seconds"]]
        lost = [n for n, t in enumerate(trials) if not t["seconds"]]
        axes.set_title(title, fontsize="medium")
        axes.set_xlabel("candidate; 0 is the compiler's choice")
        axes.set_ylabel("us")
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
        axes.legend(fontsize="small")
    figure.savefig(path)
