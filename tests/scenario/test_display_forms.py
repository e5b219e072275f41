"""Images of every form, as libraries make them: what a cell shows comes through
whole, and what only calls itself one does not."""

import io

import pytest
from executor_client import Executor
from PIL import Image, features

SVG = b"<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'/>"


def picture(form, **options):
    images = [Image.new("RGB", (64, 48), colour) for colour in ("red", "green", "blue")]
    file = io.BytesIO()
    film = {"save_all": True, "append_images": images[1:]}
    images[0].save(file, form, **(film if options.pop("film", 0) else {}), **options)
    return file.getvalue()


SOUND = [
    ("image/png", picture("PNG")),
    ("image/jpeg", picture("JPEG")),
    ("image/jpeg", picture("JPEG", progressive=True, exif=b"Exif\0\0MM\0*")),
    ("image/gif", picture("GIF")),
    ("image/gif", picture("GIF", film=True)),
    ("image/svg+xml", SVG),
    ("application/pdf", picture("PDF")),
    ("text/html", b"<b>no image</b>"),
]
if features.check("webp"):
    SOUND += [
        ("image/webp", picture("WEBP")),
        ("image/webp", picture("WEBP", lossless=True)),
        ("image/webp", picture("WEBP", film=True)),
    ]

UNSOUND = [
    ("image/png", SVG),
    ("image/jpeg", picture("JPEG")[:8]),
    ("image/gif", picture("GIF")[:40]),
    ("image/svg+xml", b"<!DOCTYPE svg [<!ENTITY a 'aaaa'>]><svg>&a;</svg>"),
    ("image/x-unknown", b"whatever"),
]


@pytest.fixture(scope="module")
def session():
    with Executor("--profile", "bare") as executor:
        yield executor.open("forms")


def show(session, mime, data):
    session.put("shown", data)
    done = session.run(
        f"display({{{mime!r}: open('shown', 'rb').read(), 'text/plain': 'it'}}, raw=True)"
    )
    assert done.status == "ok", done
    return done.displays[0]


def names(rows):
    return [f"{mime}-{number}" for number, (mime, _) in enumerate(rows)]


@pytest.mark.parametrize("mime, data", SOUND, ids=names(SOUND))
def test_what_is_sound_comes_through(session, mime, data):
    shown = show(session, mime, data)
    got = shown[mime]
    assert (got.encode() if isinstance(got, str) else got) == data


@pytest.mark.parametrize("mime, data", UNSOUND, ids=names(UNSOUND))
def test_what_is_not_does_not(session, mime, data):
    note = f"[{mime} dropped: it is not what it says, or has too many pixels]"
    assert show(session, mime, data) == {"text/plain": f"it\n{note}"}
