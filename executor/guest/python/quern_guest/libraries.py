"""libraries.py - changes libraries so that they work in a box: what they would show in
a window or a browser becomes a display, and no program is started that cannot run."""

import warnings

from . import display, hooks, machine, text

MAX_PIXELS = 16 << 20
OF_PNG = frozenset("1 L LA I I;16 P RGB RGBA".split())  # modes that it has
SWEPT = "resource_tracker: process died unexpectedly"  # at the end of its cell


def install():
    warnings.filterwarnings("ignore", SWEPT)
    hooks.after_import("joblib.parallel", fork_workers)
    hooks.after_import("joblib.pool", pickle_functions)
    hooks.after_import("psutil._common", machine.install)
    hooks.after_import("psutil._pslinux", machine.install)
    for name in ("joblib.externals.loky.backend", "loky.backend"):
        hooks.after_import(f"{name}.context", count_processors)
        hooks.after_import(f"{name}.resource_tracker", start_without_psutil)
    hooks.after_import("threadpoolctl", find_by_loaded_name)
    hooks.after_import("tqdm.notebook", show_plain_bars)
    hooks.after_import("PIL.Image", bound_images)
    hooks.after_import("PIL.ImageShow", show_images)
    hooks.after_import("pandas", wrap_tables)
    hooks.after_import("plotly.io", show_plotly)


def fork_workers(parallel):
    """Makes joblib fork its workers. Its own are new programs, which die of a /proc
    without stat where psutil is installed; forks have all modules loaded already."""
    parallel.DEFAULT_BACKEND = "multiprocessing"
    parallel.BACKENDS["loky"] = parallel.BACKENDS["multiprocessing"]


def count_processors(context):
    """Counts processors for loky, which would start lscpu, and warn when that fails."""
    context.physical_cores_cache = len(machine.processors())


def start_without_psutil(tracker):
    """Keeps psutil from joblib's tracker of temporary files: that is a new program, in
    which psutil would complain of /proc, and nobody needs it."""
    start = getattr(tracker, "spawnv_passfds", None)
    if start is None:
        return  # a later release starts it in another way

    def start_tracker(path, arguments, descriptors):
        *flags, code = arguments
        code = f"import sys; sys.modules['psutil'] = None; {code}"
        return start(path, [*flags, code], descriptors)

    tracker.spawnv_passfds = start_tracker


def find_by_loaded_name(threadpoolctl):
    """Makes threadpoolctl ask the linker for libraries by the names by which they were
    loaded. By their real paths the linker would not find them: it compares inodes,
    and in the box files have other inodes than when they were loaded."""
    threadpoolctl._realpath = str


def show_plain_bars(notebook):
    """Makes tqdm show the bars of a terminal: there are no widgets."""
    from tqdm import std

    notebook.tqdm = notebook.tqdm_notebook = std.tqdm
    notebook.trange = notebook.tnrange = std.trange


def pickle_functions(pool):
    """Lets functions of cells, and lambdas, reach workers as they reach joblib's."""
    try:
        from joblib.externals.loky.backend import reduction
    except ImportError:  # a package of its own
        from loky.backend import reduction

    pool.CustomizablePickler = reduction.get_loky_pickler()


def wrap_tables(pandas):
    """Makes pandas show twenty columns, wrapped, as in notebooks; at a prompt it would
    leave out those that do not fit beside each other."""
    pandas.set_option("display.max_columns", 20)


def bound_images(image):
    """Makes Pillow encode a picture for the screen, not for the file it may become."""

    def for_the_screen(self, **_options):
        shown, note = self, ""
        if self.mode not in OF_PNG:
            shown = self.convert("L" if self.mode == "F" else "RGB")
        if self.width * self.height > MAX_PIXELS:
            shrunk = (MAX_PIXELS / (self.width * self.height)) ** 0.5
            shown = shown.resize([int(side * shrunk) or 1 for side in self.size])
            note = f" [shown with {shown.width} x {shown.height} pixels]"
        if shown is self:
            return None  # as it says itself
        return {**display.bundle_of(shown), "text/plain": f"{self!r}{note}"}

    image.Image._repr_mimebundle_ = for_the_screen


def show_images(image_show):
    """Makes Image.show() a display; it would look for programs with windows."""

    class Viewer(image_show.Viewer):
        def show(self, image, **_options):
            display.display(image)
            return True

    image_show.register(Viewer(), 0)


def show_plotly(io):
    """Makes fig.show() of plotly a display: it would open a browser."""
    from plotly import basedatatypes

    def bundle(figure):
        return {
            "text/plain": describe(figure),
            "text/html": io.to_html(figure, include_plotlyjs="cdn", full_html=False),
            "application/vnd.plotly.v1+json": io.to_json(figure),
        }

    def show(figure, *_args, **_options):
        display.emit(bundle(figure))

    def describe(figure):
        kinds = ", ".join(trace.type for trace in figure.data)
        title = text.clip(figure.layout.title.text or "", 200)
        return f"<plotly Figure: {title or 'no title'}; traces: {kinds or 'none'}>"

    figure = basedatatypes.BaseFigure
    figure.show = show
    figure._ipython_display_ = show
    io.show = lambda fig, *args, **options: show(fig)
