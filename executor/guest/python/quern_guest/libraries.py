"""libraries.py - what libraries would show in a window or a browser comes to us,
and what they would start works in a box."""

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
    """joblib's own workers are new programs, and die over a /proc without stat
    where psutil is installed. Forks have everything loaded already, too."""
    parallel.DEFAULT_BACKEND = "multiprocessing"
    parallel.BACKENDS["loky"] = parallel.BACKENDS["multiprocessing"]


def count_processors(context):
    """loky starts lscpu to count physical ones, and warns when that fails."""
    context.physical_cores_cache = len(machine.processors())


def start_without_psutil(tracker):
    """joblib's tracker of temporary files is a new program: there psutil complains
    of /proc, and nobody needs it."""
    start = getattr(tracker, "spawnv_passfds", None)
    if start is None:
        return  # a later release starts it in another way

    def start_tracker(path, arguments, descriptors):
        *flags, code = arguments
        code = f"import sys; sys.modules['psutil'] = None; {code}"
        return start(path, [*flags, code], descriptors)

    tracker.spawnv_passfds = start_tracker


def find_by_loaded_name(threadpoolctl):
    """It asks the linker for libraries by their real paths. The linker knows files
    by their inodes: those loaded before the box was made have others in it."""
    threadpoolctl._realpath = str


def show_plain_bars(notebook):
    """There are no widgets: its bars are those of a terminal."""
    from tqdm import std

    notebook.tqdm = notebook.tqdm_notebook = std.tqdm
    notebook.trange = notebook.tnrange = std.trange


def pickle_functions(pool):
    """Those of cells, and lambdas, as they reach joblib's own workers."""
    try:
        from joblib.externals.loky.backend import reduction
    except ImportError:  # a package of its own
        from loky.backend import reduction

    pool.CustomizablePickler = reduction.get_loky_pickler()


def wrap_tables(pandas):
    """At a prompt columns that do not fit beside each other are left out; notebooks
    show twenty, one below the other."""
    pandas.set_option("display.max_columns", 20)


def bound_images(image):
    """A picture is encoded for the screen, not for the file it may become."""

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
    """Image.show() looks for programs with windows: it finds us first."""

    class Viewer(image_show.Viewer):
        def show(self, image, **_options):
            display.display(image)
            return True

    image_show.register(Viewer(), 0)


def show_plotly(io):
    """fig.show() opens a browser, or asks a program for a picture."""
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
