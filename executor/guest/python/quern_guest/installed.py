"""installed.py - which of the libraries that models are told of can be imported."""

from . import missing

# Not part of Python, and of use without a network.
KNOWN = (
    "numpy pandas scipy matplotlib seaborn sklearn statsmodels sympy networkx plotly "
    "PIL openpyxl xlsxwriter docx pptx reportlab pypdf bs4 lxml jinja2 qrcode tqdm "
    "cv2 skimage torch tensorflow jax xgboost lightgbm pyarrow polars duckdb numba "
    "geopandas shapely nltk spacy yaml"
).split()


names = ""  # joined by commas


def look():
    global names
    names = ", ".join(name for name in KNOWN if missing.is_there(name))
